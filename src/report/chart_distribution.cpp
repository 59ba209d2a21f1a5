// Draws a histogram of values, with quantiles and the limit as marked lines.
#include <algorithm>
#include <cmath>

#include "report/chart_parts.h"

namespace cb {
namespace {

std::vector<double> log_ticks(double low, double high) {
  std::vector<double> out;
  const bool wide = high / low > 50;
  for (int power = static_cast<int>(std::floor(std::log10(low))); power <= 18; ++power) {
    for (const double m : {1.0, 2.0, 5.0}) {
      const double tick = m * std::pow(10.0, power);
      if (tick > high * 1.0001) return out;
      if (tick >= low * 0.9999 && (m == 1.0 || !wide)) out.push_back(tick);
    }
  }
  return out;
}

// Labels that would touch move to the next row.
void draw_marks(Svg& svg, const DistributionChart& chart, const Plot& plot, const Scale& x) {
  std::vector<double> free_from(4, -1e9);
  std::vector<ValueMark> marks = chart.marks;
  std::ranges::stable_sort(marks, {}, &ValueMark::value);
  for (const ValueMark& mark : marks) {
    const double at = x(mark.value);
    const std::string label = fit_label(mark.label, 210);
    const bool to_left = at + label_width(label) > plot.right;
    const double start = to_left ? at - label_width(label) - 4 : at;
    size_t row = 0;
    while (row + 1 < free_from.size() && start < free_from[row]) ++row;
    free_from[row] = start + label_width(label) + 10;
    const double height = plot.top - 42 + 13 * static_cast<double>(row);
    svg.line({at, height - 8}, {at, plot.bottom}, mark.bad ? "req" : "mark");
    svg.text({to_left ? at - 4 : at + 4, height}, label, mark.bad ? "note" : "lbl",
             to_left ? "end" : "start");
  }
}

}  // namespace

std::string draw_distribution(const DistributionChart& chart, Svg svg) {
  double low = chart.bins.front().low;
  double high = chart.bins.back().high;
  double most = 0;
  for (const Bin& bin : chart.bins) most = std::max(most, bin.count);
  for (const ValueMark& mark : chart.marks) {
    if (chart.log_x && mark.value <= 0) continue;
    low = std::min(low, mark.value);
    high = std::max(high, mark.value);
  }
  const Plot plot{58, 62, kChartWidth - 14, 230 - 26};
  const Scale x{low, high, plot.left + 6, plot.right - 6, chart.log_x};
  const std::vector<double> counts = round_ticks(0, most, 4);
  const Scale y{0, counts.back(), plot.bottom, plot.top};

  draw_y_axis(svg, plot, y, counts, {1, ""});
  svg.text({plot.left - 52, plot.top - 12}, chart.count_label, "tick");
  for (const Bin& bin : chart.bins) {
    if (bin.count == 0) continue;
    const double left = x(bin.low);
    // A single count among thousands stays visible.
    const double height = std::max(plot.bottom - y(bin.count), 1.2);
    svg.rect({left, plot.bottom - height}, {std::max(x(bin.high) - left - 0.6, 1.0), height},
             "bin");
  }
  draw_x_axis(svg, plot, x,
              chart.log_x ? log_ticks(low, high) : axis_ticks(low, high, 6, chart.unit),
              axis_unit(high, chart.unit));
  draw_marks(svg, chart, plot, x);
  return svg.str();
}

}  // namespace cb
