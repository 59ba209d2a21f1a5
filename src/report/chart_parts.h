// Helpers that the drawings share: plot area, axes, estimated text width.
#pragma once

#include <string_view>
#include <vector>

#include "core/svg.h"
#include "report/axis.h"
#include "report/chart.h"

namespace cb {

// The area inside the axes, in pixels.
struct Plot {
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;
};

// Draws horizontal grid lines with their numbers, and the unit above them.
void draw_y_axis(Svg& svg, const Plot& plot, const Scale& y, const std::vector<double>& ticks,
                 const AxisUnit& unit);

// Draws the numbers below the plot.
void draw_x_axis(Svg& svg, const Plot& plot, const Scale& x, const std::vector<double>& ticks,
                 const AxisUnit& unit);

std::string draw_curve(const CurveChart& chart, Svg svg);
std::string draw_distribution(const DistributionChart& chart, Svg svg);
std::string draw_timeline(const TimelineChart& chart, Svg svg);
std::string draw_strip(const StripChart& chart, Svg svg);
std::string draw_bars(const BarsChart& chart, Svg svg);
std::string draw_matrix(const MatrixChart& chart, Svg svg);
std::string draw_waterfall(const WaterfallChart& chart, Svg svg);
std::string draw_stack(const StackChart& chart, Svg svg);
std::string draw_stack_rows(const StackRowsChart& chart, Svg svg);

constexpr double kChartWidth = 540;

// Heights in pixels. Those of strips, bars, matrices and time lines grow with the content.
double strip_height(const StripChart& chart);
double bars_height(const BarsChart& chart);
double matrix_height(const MatrixChart& chart);
double timeline_height(const TimelineChart& chart);
double waterfall_height(const WaterfallChart& chart);
double stack_height(const StackChart& chart);
double stack_rows_height(const StackRowsChart& chart);

}  // namespace cb
