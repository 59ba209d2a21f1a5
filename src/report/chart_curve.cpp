// Draws a metric over a size: the worst entity's median with its interval, the median of all
// entities, the ceiling and the requirement.
#include <algorithm>

#include "core/units.h"
#include "report/chart_parts.h"

namespace cb {
namespace {

std::vector<Point> placed(const std::vector<Point>& points, const Scale& x, const Scale& y) {
  std::vector<Point> out;
  for (const auto& [px, py] : points) out.push_back({x(px), y(py)});
  return out;
}

double highest(const CurveChart& chart) {
  double out = 0;
  for (const auto& [x, v] : chart.worst) out = std::max(out, v);
  for (const auto& [x, v] : chart.typical) out = std::max(out, v);
  for (const auto& [x, v] : chart.ceiling) out = std::max(out, v);
  for (const auto& [x, low, high] : chart.interval) out = std::max(out, high);
  for (const LimitLine& limit : chart.limits) out = std::max(out, limit.value);
  return out;
}

void draw_sizes(Svg& svg, const CurveChart& chart, const Plot& plot, const Scale& x) {
  svg.line({plot.left, plot.bottom}, {plot.right, plot.bottom}, "axis");
  double free_from = -1e9;
  for (const auto& [value, unused] : chart.worst) {
    const std::string text =
        chart.x_is_bytes ? format_size(static_cast<int64_t>(value)) : tick_text(value);
    const double half = label_width(text) / 2;
    if (x(value) - half < free_from) continue;
    free_from = x(value) + half + 6;
    svg.text({x(value), plot.bottom + 15}, text, "tick", "middle");
  }
}

void draw_limits(Svg& svg, const CurveChart& chart, const Plot& plot, const Scale& x,
                 const Scale& y) {
  for (const LimitLine& limit : chart.limits) {
    // A requirement at one size becomes a short line, so that it is visible.
    const double from = std::max(x(limit.from) - 14, plot.left);
    const double to = std::min(x(limit.to) + 14, plot.right);
    svg.line({from, y(limit.value)}, {to, y(limit.value)}, "req");
    const bool right = (from + to) / 2 > (plot.left + plot.right) / 2;
    // Puts the text below its line, but not over the axis' own labels.
    const double line = y(limit.value);
    const double text = line + 15 > plot.bottom ? line - 5 : line + 13;
    svg.text({right ? to : from, text}, limit.label, "note", right ? "end" : "start");
  }
}

// Draws the legend above the plot: each line, then its name.
void draw_key(Svg& svg, const CurveChart& chart, const Plot& plot) {
  double at = plot.left + 4;
  const auto entry = [&](const std::string& label, const char* css) {
    if (label.empty()) return;
    const std::string shown = fit_label(label, 170);
    svg.line({at, 10}, {at + 20, 10}, css);
    svg.text({at + 25, 14}, shown, "lbl");
    at += 25 + label_width(shown) + 16;
  };
  entry(chart.worst_label, "line");
  entry(chart.typical_label, "line typical");
  entry(chart.ceiling_label, "ceil");
}

}  // namespace

std::string draw_curve(const CurveChart& chart, Svg svg) {
  const double top = highest(chart);
  const AxisUnit unit = axis_unit(top, chart.unit);
  const std::vector<double> ticks = axis_ticks(0, top, 5, chart.unit);
  const Plot plot{58, 40, kChartWidth - 14, 230 - 26};
  const Scale x{chart.worst.front()[0], chart.worst.back()[0], plot.left + 16, plot.right - 16,
                true};
  const Scale y{0, ticks.back(), plot.bottom, plot.top};

  draw_y_axis(svg, plot, y, ticks, unit);
  draw_sizes(svg, chart, plot, x);
  std::vector<Point> band;
  for (const auto& [px, low, high] : chart.interval) band.push_back({x(px), y(high)});
  for (auto p = chart.interval.rbegin(); p != chart.interval.rend(); ++p)
    band.push_back({x((*p)[0]), y((*p)[1])});
  if (band.size() > 2) svg.polygon(band, "band");
  if (chart.ceiling.size() > 1) svg.polyline(placed(chart.ceiling, x, y), "ceil");
  if (chart.typical.size() > 1) svg.polyline(placed(chart.typical, x, y), "line typical");
  const auto worst = placed(chart.worst, x, y);
  svg.polyline(worst, "line");
  for (const Point& point : worst) svg.circle(point, 2.6, "dot");
  draw_limits(svg, chart, plot, x, y);
  draw_key(svg, chart, plot);
  return svg.str();
}

}  // namespace cb
