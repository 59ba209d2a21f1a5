#pragma once

#include <cstdint>
#include <vector>

#include "core/params.h"

namespace cb {

// first, first·factor, first·factor², … up to and including `last` if the series meets it. factor
// > 1.
std::vector<int64_t> geometric_sizes(int64_t first, int64_t last, double factor);

// If --min-size or --max-size is given: the sizes between them by --step-factor (`fallback_min` or
// `fallback_max` stands in for a missing one). Else --size as given or by default. Throws
// UsageError if the range is empty.
std::vector<int64_t> sizes_of(const Params& params, int64_t fallback_min, int64_t fallback_max);

}  // namespace cb
