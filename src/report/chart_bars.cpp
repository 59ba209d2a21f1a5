// Draws horizontal bars of measured values; a thick tick is the requirement, a dashed one the
// ceiling.
#include <algorithm>

#include "report/chart_parts.h"

namespace cb {
namespace {

constexpr double kRow = 22;
constexpr double kBarsTop = 24;
constexpr double kBarLabels = 190;  // pixels for the names on the left
constexpr double kValues = 96;      // pixels for the numbers on the right

}  // namespace

double bars_height(const BarsChart& chart) {
  return kBarsTop + kRow * static_cast<double>(chart.bars.size()) + 26;
}

std::string draw_bars(const BarsChart& chart, Svg svg) {
  double top = 0;
  for (const Bar& bar : chart.bars)
    top = std::max({top, bar.value, bar.required.value_or(0), bar.ceiling.value_or(0)});
  const Plot plot{kBarLabels, kBarsTop, kChartWidth - kValues, bars_height(chart) - 26};
  const std::vector<double> ticks = axis_ticks(0, top, 5, chart.unit);
  const Scale x{0, ticks.back(), plot.left, plot.right};

  for (const double tick : ticks) svg.line({x(tick), plot.top}, {x(tick), plot.bottom}, "grid");
  draw_x_axis(svg, plot, x, ticks, axis_unit(top, chart.unit));
  double y = plot.top;
  for (const Bar& bar : chart.bars) {
    const bool fails = bar.state == State::fail;
    svg.text({plot.left - 8, y + 15},
             std::string(state_mark(bar.state)) + " " + fit_label(bar.label, kBarLabels - 26),
             fails ? "note" : "lbl", "end");
    svg.rect({plot.left, y + 4}, {std::max(x(bar.value) - plot.left, 0.8), kRow - 8},
             fails ? "bar b" : "bar");
    if (bar.cut) svg.text({x(bar.value) - 4, y + 15}, "»", "cut", "end");
    if (bar.required) svg.line({x(*bar.required), y + 1}, {x(*bar.required), y + kRow - 1}, "req");
    if (bar.ceiling) svg.line({x(*bar.ceiling), y + 1}, {x(*bar.ceiling), y + kRow - 1}, "ceil");
    // A unit that is too long for the space is in the caption; a number is never cut.
    const bool fits = label_width(bar.value_text) <= kValues - 10;
    svg.text({plot.right + 8, y + 15},
             fits ? bar.value_text : bar.value_text.substr(0, bar.value_text.find(' ')), "lbl");
    y += kRow;
  }
  double key = plot.left;
  const auto entry = [&](const std::string& label, const char* css) {
    if (label.empty()) return;
    svg.line({key + 4, 4}, {key + 4, 17}, css);
    svg.text({key + 12, 15}, label, "lbl");
    key += 12 + label_width(label) + 18;
  };
  entry(chart.required_label, "req");
  entry(chart.ceiling_label, "ceil");
  return svg.str();
}

}  // namespace cb
