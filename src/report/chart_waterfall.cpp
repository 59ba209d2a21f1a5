// Draws how one total becomes another: a bar for each total, and between them one for each
// difference, which begins where the one above it ends.
#include <algorithm>

#include "report/chart_parts.h"

namespace cb {
namespace {

constexpr double kStepHeight = 22;
constexpr double kStepsTop = 8;
constexpr double kStepLabels = 170;  // pixels for the names on the left
constexpr double kStepValues = 96;   // pixels for the numbers on the right

const char* style_of(const WaterfallStep& step) {
  if (step.total) return "bar";
  return step.to > step.from ? "bar b" : "bar less";
}

}  // namespace

double waterfall_height(const WaterfallChart& chart) {
  return kStepsTop + kStepHeight * static_cast<double>(chart.steps.size()) + 26;
}

std::string draw_waterfall(const WaterfallChart& chart, Svg svg) {
  double top = 0;
  for (const WaterfallStep& step : chart.steps) top = std::max({top, step.from, step.to});
  const Plot plot{kStepLabels, kStepsTop, kChartWidth - kStepValues, waterfall_height(chart) - 26};
  const std::vector<double> ticks = axis_ticks(0, top, 5, chart.unit);
  const Scale x{0, ticks.back(), plot.left, plot.right};
  for (const double tick : ticks) svg.line({x(tick), plot.top}, {x(tick), plot.bottom}, "grid");
  draw_x_axis(svg, plot, x, ticks, axis_unit(top, chart.unit));
  double y = plot.top;
  for (size_t i = 0; i < chart.steps.size(); ++i) {
    const WaterfallStep& step = chart.steps[i];
    const double from = x(std::min(step.from, step.to)), to = x(std::max(step.from, step.to));
    svg.text({plot.left - 8, y + 15}, fit_label(step.label, kStepLabels - 12), "lbl", "end");
    svg.rect({from, y + 4}, {std::max(to - from, 0.8), kStepHeight - 8}, style_of(step));
    // A thin line leads to the next bar.
    if (i + 1 < chart.steps.size())
      svg.line({x(step.to), y + kStepHeight - 4}, {x(step.to), y + kStepHeight + 4}, "axis");
    svg.text({plot.right + 8, y + 15}, step.value_text, "lbl");
    y += kStepHeight;
  }
  return svg.str();
}

}  // namespace cb
