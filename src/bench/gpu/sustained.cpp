#include "bench/gpu/sustained.h"

#include <algorithm>

#include "core/stats.h"

namespace cb {

std::optional<double> sustained_share(std::span<const double> rates) {
  constexpr size_t kTenths = 10, kMin = 50;
  if (rates.size() < kMin) return std::nullopt;
  double best = 0, last = 0;
  for (size_t tenth = 0; tenth < kTenths; ++tenth) {
    const size_t begin = rates.size() * tenth / kTenths;
    const size_t end = rates.size() * (tenth + 1) / kTenths;
    last = median(rates.subspan(begin, end - begin));
    best = std::max(best, last);
  }
  return best > 0 ? std::optional(last / best) : std::nullopt;
}

}  // namespace cb
