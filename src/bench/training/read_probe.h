#pragma once

#include <cstdint>
#include <vector>

#include "bench/training/backend.h"

namespace cb::training {

// Bytes per second of reading weights that are `bytes` in all for one row, as a product; the best
// of several passes.
double row_product_rate(Backend<float>& backend, double bytes, int64_t width);
// The same of an array, by threads on these processors.
double array_rate(const std::vector<int>& cpus, double bytes);

}  // namespace cb::training
