// Scales and tick marks of the charts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/chart.h"

namespace cb {

// The unit in which an axis up to `largest` is labelled: values are divided by factor.
struct AxisUnit {
  double factor = 1;
  std::string label;
};
AxisUnit axis_unit(double largest, std::string_view unit);

// At most about `wanted` round numbers from low to high, both within the first and the last.
std::vector<double> round_ticks(double low, double high, int wanted);

// The same, round in the unit in which the axis is labelled.
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
