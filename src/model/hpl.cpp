#include "model/hpl.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cb {

double hpl_operations(int64_t order) {
  const auto n = static_cast<double>(order);
  return n * n * (2.0 / 3.0 * n + 1.5);
}

double hpl_residual(const HplSystem& s) {
  double error = 0, norm_a = 0, norm_b = 0, norm_x = 0;
  for (size_t i = 0; i < s.b.size(); ++i) {
    if (std::isnan(s.product[i])) return std::numeric_limits<double>::quiet_NaN();
    error = std::max(error, std::abs(s.product[i] - s.b[i]));
    norm_a = std::max(norm_a, s.sums[i]);
    norm_b = std::max(norm_b, std::abs(s.b[i]));
    norm_x = std::max(norm_x, std::abs(s.x[i]));
  }
  const auto order = static_cast<double>(s.b.size());
  const double scale = 0x1p-53 * (norm_a * norm_x + norm_b) * order;
  // Divided by what has overflowed, any error would be small.
  return std::isfinite(scale) ? error / scale : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace cb
