// Draws what a whole consists of: columns over a count, or a line per entity. Each part has a
// number in the legend, since shades alone are not told apart in every print.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/chart_parts.h"

namespace cb {
namespace {

constexpr double kKeyLeft = 8;
constexpr double kKeyRow = 19;
constexpr Point kSwatch{15, 13};
constexpr double kColumnsHeight = 150;
constexpr double kBelowHeight = 52;
constexpr double kBelowGap = 30;
constexpr double kLine = 22;
constexpr double kLineLabels = 150;  // pixels for the names on the left
constexpr double kLineValues = 72;   // pixels for the numbers on the right

struct ShadeStyle {
  const char* fill;
  const char* number;
};

ShadeStyle shade_style(Shade shade) {
  switch (shade) {
    case Shade::dark:
      return {"dot", "cell"};
    case Shade::middle:
      return {"q3", "cell dark"};
    case Shade::light:
      return {"q0", "cell dark"};
    case Shade::red:
      return {"b", "cell"};
    case Shade::yellow:
      return {"w", "cell dark"};
    case Shade::white:
      return {"less", "cell dark"};
  }
  return {"less", "cell dark"};
}

// Where each entry of the legend stands: behind the entry before it, or in the next row.
std::vector<Point> key_places(const std::vector<StackPart>& parts) {
  std::vector<Point> out;
  Point at{kKeyLeft, 3};
  for (const StackPart& part : parts) {
    const double width = kSwatch[0] + 5 + label_width(part.label);
    if (at[0] + width > kChartWidth && at[0] > kKeyLeft) at = {kKeyLeft, at[1] + kKeyRow};
    out.push_back(at);
    at[0] += width + 14;
  }
  return out;
}

double key_height(const std::vector<StackPart>& parts) {
  return parts.empty() ? 0 : key_places(parts).back()[1] + kKeyRow;
}

void draw_parts_key(Svg& svg, const std::vector<StackPart>& parts) {
  const std::vector<Point> places = key_places(parts);
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto [x, y] = places[i];
    const ShadeStyle style = shade_style(parts[i].shade);
    svg.rect({x, y}, kSwatch, style.fill);
    svg.text({x + kSwatch[0] / 2, y + 10.5}, std::to_string(i + 1), style.number, "middle");
    svg.text({x + kSwatch[0] + 5, y + 11}, parts[i].label, "lbl");
  }
}

double sum_of(const std::vector<double>& values) {
  double out = 0;
  for (const double value : values) out += value;
  return out;
}

Plot columns_plot(const StackChart& chart) {
  const double top = key_height(chart.parts) + 22;
  return {58, top, kChartWidth - 14, top + kColumnsHeight};
}

// One element per part: 100 bytes for each of its pieces would fill the page.
void draw_columns(Svg& svg, const StackChart& chart, const Scale& x, const Scale& y) {
  const double width = x(chart.width) - x(0);
  const double drawn = width > 4 ? width - 1 : width;
  std::vector<double> base(chart.columns.size(), 0);
  for (size_t part = 0; part < chart.parts.size(); ++part) {
    std::string pieces;
    for (size_t i = 0; i < chart.columns.size(); ++i) {
      const StackColumn& column = chart.columns[i];
      const double from = base[i];
      base[i] += column.values[part];
      const double height = y(from) - y(base[i]);
      if (height < 0.05) continue;
      pieces += fmt::format("M{:.1f} {:.1f}h{:.1f}v{:.1f}h-{:.1f}z", x(column.at) - drawn / 2,
                            y(base[i]), drawn, height, drawn);
    }
    svg.path(pieces, shade_style(chart.parts[part].shade).fill);
  }
}

void draw_below(Svg& svg, const StackChart& chart, const Plot& plot, const Scale& x) {
  double top = 0;
  for (const auto& [at, value] : chart.below) top = std::max(top, value);
  const std::vector<double> ticks = axis_ticks(0, top, 2, chart.unit);
  const Scale y{0, ticks.back(), plot.bottom, plot.top};
  draw_y_axis(svg, plot, y, ticks, axis_unit(top, chart.unit));
  svg.text({plot.left + 4, plot.top - 9}, chart.below_label, "lbl");
  const double width = std::max(x(chart.width) - x(0) - 1, 2.0);
  for (const auto& [at, value] : chart.below)
    svg.rect({x(at) - width / 2, y(value)}, {width, plot.bottom - y(value)}, "dark");
}

// Counts have no halves.
std::vector<double> count_ticks(double first, double last) {
  std::vector<double> out = round_ticks(first, last, 6);
  std::erase_if(out, [](double tick) { return std::abs(tick - std::round(tick)) > 1e-6; });
  return out;
}

// The numbers of the parts that are wide enough.
void draw_stack_line(Svg& svg, const StackRowsChart& chart, const StackRow& row, const Scale& x,
                     double y) {
  double from = 0;
  for (size_t part = 0; part < chart.parts.size(); ++part) {
    const double left = x(from), width = x(from + row.values[part]) - left;
    from += row.values[part];
    if (width < 0.05) continue;
    const ShadeStyle style = shade_style(chart.parts[part].shade);
    svg.rect({left, y + 3}, {width, kLine - 6}, style.fill);
    if (width >= 12)
      svg.text({left + width / 2, y + 15}, std::to_string(part + 1), style.number, "middle");
  }
}

}  // namespace

double stack_height(const StackChart& chart) {
  const double below = chart.below.empty() ? 0 : kBelowGap + kBelowHeight;
  return columns_plot(chart).bottom + below + 24;
}

std::string draw_stack(const StackChart& chart, Svg svg) {
  double top = 0;
  for (const StackColumn& column : chart.columns) top = std::max(top, sum_of(column.values));
  const double first = chart.columns.front().at, last = chart.columns.back().at;
  Plot plot = columns_plot(chart);
  const std::vector<double> ticks = axis_ticks(0, top, 4, chart.unit);
  const Scale y{0, ticks.back(), plot.bottom, plot.top};
  const Scale x{first - chart.width / 2, last + chart.width / 2, plot.left, plot.right};
  draw_parts_key(svg, chart.parts);
  draw_y_axis(svg, plot, y, ticks, axis_unit(top, chart.unit));
  draw_columns(svg, chart, x, y);
  if (!chart.below.empty()) {
    svg.line({plot.left, plot.bottom}, {plot.right, plot.bottom}, "axis");
    plot.top = plot.bottom + kBelowGap;
    plot.bottom = plot.top + kBelowHeight;
    draw_below(svg, chart, plot, x);
  }
  draw_x_axis(svg, plot, x, count_ticks(first, last), {1, chart.x_label});
  return svg.str();
}

double stack_rows_height(const StackRowsChart& chart) {
  return key_height(chart.parts) + 6 + kLine * static_cast<double>(chart.rows.size()) + 26;
}

std::string draw_stack_rows(const StackRowsChart& chart, Svg svg) {
  double top = 0;
  for (const StackRow& row : chart.rows) top = std::max(top, sum_of(row.values));
  const Plot plot{kLineLabels, key_height(chart.parts) + 6, kChartWidth - kLineValues,
                  stack_rows_height(chart) - 26};
  const std::vector<double> ticks = axis_ticks(0, top, 5, chart.unit);
  const Scale x{0, ticks.back(), plot.left, plot.right};
  draw_parts_key(svg, chart.parts);
  for (const double tick : ticks) svg.line({x(tick), plot.top}, {x(tick), plot.bottom}, "grid");
  draw_x_axis(svg, plot, x, ticks, axis_unit(top, chart.unit));
  double y = plot.top;
  for (const StackRow& row : chart.rows) {
    svg.text({plot.left - 8, y + 15}, fit_label(row.label, kLineLabels - 12), "lbl", "end");
    draw_stack_line(svg, chart, row, x, y);
    svg.text({plot.right + 8, y + 15}, row.value_text, "lbl");
    y += kLine;
  }
  return svg.str();
}

}  // namespace cb
