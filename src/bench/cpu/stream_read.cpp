// Reading alone: the rate of the memory when nothing is written. It is the ceiling beside STREAM's
// figures.
#include <array>

#include "bench/cpu/stream_kernels.h"

namespace cb {
namespace {

// Enough independent sums to hide the additions' latency behind the memory's.
constexpr size_t kSums = 32;

double sum_of(const double* x, size_t count) {
  std::array<double, kSums> sums{};
  const size_t whole = count / kSums * kSums;
  for (size_t i = 0; i < whole; i += kSums) {
    for (size_t j = 0; j < kSums; ++j) sums[j] += x[i + j];
  }
  double total = 0;
  for (const double s : sums) total += s;
  for (size_t i = whole; i < count; ++i) total += x[i];
  return total;
}

}  // namespace

double read_arrays(const StreamArrays& arrays) {
  return sum_of(arrays.a, arrays.count) + sum_of(arrays.b, arrays.count) +
         sum_of(arrays.c, arrays.count);
}

}  // namespace cb
