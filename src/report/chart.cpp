#include "report/chart.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "report/chart_parts.h"

namespace cb {
namespace {

template <typename... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <typename... F>
Overloaded(F...) -> Overloaded<F...>;

}  // namespace

const char* state_mark(State state) {
  switch (state) {
    case State::pass:
      return "✓";
    case State::warn:
      return "!";
    case State::fail:
      return "✗";
    case State::incomplete:
      return "?";
    case State::not_applicable:
      return "–";
    case State::waived:
      return "~";
  }
  return "?";
}

void draw_y_axis(Svg& svg, const Plot& plot, const Scale& y, const std::vector<double>& ticks,
                 const AxisUnit& unit) {
  for (const double tick : ticks) {
    const double at = y(tick);
    svg.line({plot.left, at}, {plot.right, at}, "grid");
    svg.text({plot.left - 6, at + 4}, tick_text(tick / unit.factor), "tick", "end");
  }
  svg.text({plot.left - 6, plot.top - 9}, unit.label, "tick", "end");
}

void draw_x_axis(Svg& svg, const Plot& plot, const Scale& x, const std::vector<double>& ticks,
                 const AxisUnit& unit) {
  svg.line({plot.left, plot.bottom}, {plot.right, plot.bottom}, "axis");
  std::vector<double> visible;
  std::ranges::copy_if(ticks, std::back_inserter(visible), [&](double tick) {
    return x(tick) >= plot.left - 1 && x(tick) <= plot.right + 1;
  });
  double free_from = -1e9;
  for (const double& tick : visible) {
    const double at = x(tick);
    std::string text = tick_text(tick / unit.factor);
    if (&tick == &visible.back() && !unit.label.empty()) text += " " + unit.label;
    const double half = label_width(text) / 2;
    if (at - half < free_from) {
      // The last number without its unit is better than no last number.
      text = tick_text(tick / unit.factor);
      if (at - label_width(text) / 2 < free_from) continue;
    }
    free_from = at + label_width(text) / 2 + 8;
    const bool beyond = at + label_width(text) / 2 > kChartWidth;
    svg.text({beyond ? kChartWidth : at, plot.bottom + 15}, text, "tick",
             beyond ? "end" : "middle");
  }
}

std::string draw(const Chart& chart, const std::string& id, const std::string& title,
                 const std::string& description) {
  const auto canvas = [&](double height) {
    return Svg(kChartWidth, height, id, title, description);
  };
  return std::visit(
      Overloaded{
          [&](const CurveChart& c) { return draw_curve(c, canvas(230)); },
          [&](const DistributionChart& c) { return draw_distribution(c, canvas(230)); },
          [&](const TimelineChart& c) { return draw_timeline(c, canvas(timeline_height(c))); },
          [&](const StripChart& c) { return draw_strip(c, canvas(strip_height(c))); },
          [&](const BarsChart& c) { return draw_bars(c, canvas(bars_height(c))); },
          [&](const MatrixChart& c) { return draw_matrix(c, canvas(matrix_height(c))); },
          [&](const WaterfallChart& c) { return draw_waterfall(c, canvas(waterfall_height(c))); },
          [&](const StackChart& c) { return draw_stack(c, canvas(stack_height(c))); },
          [&](const StackRowsChart& c) { return draw_stack_rows(c, canvas(stack_rows_height(c))); },
          [&](const FabricPicture& c) { return draw_fabric(c, id, title, description); }},
      chart);
}

}  // namespace cb
