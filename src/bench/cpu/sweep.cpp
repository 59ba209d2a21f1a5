#include "bench/cpu/sweep.h"

#include <cmath>

#include <fmt/format.h>

#include "core/units.h"

namespace cb {

std::vector<int64_t> geometric_sizes(int64_t first, int64_t last, double factor) {
  std::vector<int64_t> out;
  for (double size = static_cast<double>(first); size <= static_cast<double>(last) + 0.5;
       size *= factor) {
    const int64_t rounded = std::llround(size);
    if (out.empty() || rounded > out.back()) out.push_back(rounded);
  }
  return out;
}

std::vector<int64_t> sizes_of(const Params& params, int64_t fallback_min, int64_t fallback_max) {
  if (!params.has("min-size") && !params.has("max-size") && params.has("size"))
    return params.integers("size");
  const int64_t first = params.has("min-size") ? params.integer("min-size") : fallback_min;
  const int64_t last = params.has("max-size") ? params.integer("max-size") : fallback_max;
  if (first > last)
    throw UsageError(
        "clusterbench", "--max-size",
        fmt::format("{} is below --min-size {}", format_size(last), format_size(first)));
  return geometric_sizes(first, last, params.number("step-factor"));
}

}  // namespace cb
