#include "model/clock_offset.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace cb {

std::optional<double> clock_distance_seconds(double own, std::span<const double> all) {
  if (all.size() < 2) return std::nullopt;
  std::vector<double> sorted(all.begin(), all.end());
  std::sort(sorted.begin(), sorted.end());
  const double below = sorted[(sorted.size() - 1) / 2];
  const double above = sorted[sorted.size() / 2];
  return std::max(std::abs(own - below), std::abs(own - above));
}

}  // namespace cb
