// Draws up to two panels, one above the other, over the same time; events cross both.
#include <algorithm>
#include <cmath>
#include <limits>

#include "report/chart_parts.h"

namespace cb {
namespace {

constexpr double kPanelHeight = 96;
constexpr double kPanelGap = 26;
constexpr double kTimelineTop = 34;

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void take(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

Range values_of(const TimePanel& panel) {
  Range out;
  for (const TimeLine& line : panel.lines) {
    for (const auto& [t, v] : line.points) out.take(v);
  }
  return out;
}

Range times_of(const TimelineChart& chart) {
  Range out;
  for (const TimePanel& panel : chart.panels) {
    for (const TimeLine& line : panel.lines) {
      for (const auto& [t, v] : line.points) out.take(t);
    }
  }
  for (const TimeEvent& event : chart.events) out.take(event.at);
  return out;
}

void draw_panel(Svg& svg, const TimePanel& panel, const Plot& plot, const Scale& x) {
  const Range range = values_of(panel);
  // A flat line stays flat: the scale spans at least a tenth of the value.
  const double margin =
      std::max((range.high - range.low) * 0.1, std::max(std::abs(range.high), 1e-12) * 0.05);
  const std::vector<double> ticks =
      axis_ticks(range.low >= 0 ? std::max(0.0, range.low - margin) : range.low - margin,
                 range.high + margin, 3, panel.unit);
  const Scale y{ticks.front(), ticks.back(), plot.bottom, plot.top};
  draw_y_axis(svg, plot, y, ticks, axis_unit(ticks.back(), panel.unit));
  svg.text({plot.left + 4, plot.top - 9}, fit_label(panel.label, plot.right - plot.left), "lbl");
  for (const bool emphasised : {false, true}) {
    for (const TimeLine& line : panel.lines) {
      if (line.emphasised != emphasised) continue;
      std::vector<Point> points;
      for (const auto& [t, v] : line.points) points.push_back({x(t), y(v)});
      svg.polyline(points, emphasised ? "line" : "line typical");
    }
  }
}

// A line an event, and its label beside it unless that would lie over an earlier one.
void draw_events(Svg& svg, const std::vector<TimeEvent>& events, const Plot& plot, const Scale& x) {
  constexpr double kGap = 4;
  double written_to = plot.left;
  for (const TimeEvent& event : events) {
    const double at = x(event.at);
    svg.line({at, 10}, {at, plot.bottom}, "event");
    const std::string label = fit_label(event.label, 260);
    const double width = label_width(label);
    const bool to_left = at + width + kGap > plot.right;
    if ((to_left ? at - kGap - width : at) < written_to) continue;
    svg.text({to_left ? at - kGap : at + kGap, 14}, label, "note", to_left ? "end" : "start");
    written_to = to_left ? at : at + kGap + width;
  }
}

}  // namespace

double timeline_height(const TimelineChart& chart) {
  const auto n = static_cast<double>(chart.panels.size());
  return kTimelineTop + n * kPanelHeight + (n - 1) * kPanelGap + 24;
}

std::string draw_timeline(const TimelineChart& chart, Svg svg) {
  const Range time = times_of(chart);
  const double bottom = timeline_height(chart) - 24;
  const Plot all{58, kTimelineTop, kChartWidth - 14, bottom};
  const Scale x{time.low, time.high, all.left, all.right};
  double top = kTimelineTop;
  for (const TimePanel& panel : chart.panels) {
    draw_panel(svg, panel, {all.left, top, all.right, top + kPanelHeight}, x);
    top += kPanelHeight + kPanelGap;
  }
  if (chart.x_label.empty())
    draw_x_axis(svg, all, x, axis_ticks(time.low, time.high, 6, "seconds"),
                axis_unit(time.high, "seconds"));
  else
    draw_x_axis(svg, all, x, round_ticks(time.low, time.high, 6), {1, chart.x_label});
  draw_events(svg, chart.events, all, x);
  return svg.str();
}

}  // namespace cb
