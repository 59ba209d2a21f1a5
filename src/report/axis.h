// Scales and tick marks for the charts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/chart.h"

namespace cb {

// The unit that labels an axis up to `largest`; values are divided by `factor`.
struct AxisUnit {
  double factor = 1;
  std::string label;
};
AxisUnit axis_unit(double largest, std::string_view unit);

// About `wanted` round numbers that enclose [low, high].
std::vector<double> round_ticks(double low, double high, int wanted);

// Like round_ticks(), but the numbers are round in the unit that labels the axis.
std::vector<double> axis_ticks(double low, double high, int wanted, std::string_view unit);

std::string tick_text(double value);

// Maps [low, high] to [from, to] pixels.
struct Scale {
  double low = 0;
  double high = 1;
  double from = 0;
  double to = 1;
  bool log = false;

  double operator()(double value) const;
};

}  // namespace cb
