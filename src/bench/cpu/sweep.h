#pragma once

#include <cstdint>
#include <vector>

#include "core/params.h"

namespace cb {

// first, first·factor, first·factor², … up to and including `last` where it is met. factor > 1.
std::vector<int64_t> geometric_sizes(int64_t first, int64_t last, double factor);

// --min-size to --max-size by --step-factor where one of the two is given (the other from
// `fallback_min`, `fallback_max`), else --size as given or defaulted. Throws UsageError if the
// range is empty.
std::vector<int64_t> sizes_of(const Params& params, int64_t fallback_min, int64_t fallback_max);

}  // namespace cb
