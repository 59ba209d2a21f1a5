#include "bench/gpu/lu_plan.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "core/messages/said.h"
#include "kernels/lu.h"

namespace cb {
namespace {

constexpr double kShareOfFree = 0.95;  // the driver itself takes some when kernels are loaded
constexpr int64_t kLibraryBytes = int64_t{64} << 20;  // of products on two streams
constexpr int64_t kOrderMultiple = 256;
// The strongest product without units for fp64 has 1.64 TFLOP/s, the weakest with them 9.7.
constexpr double kLeastFp64 = 4e12;
constexpr int64_t kDouble = sizeof(double);

// Chips with 2 or 4 results of fp64 a clock and multiprocessor; the others have 32 or 64 (CUDA C++
// Programming Guide, arithmetic instructions).
bool has_few_units(int capability) {
  const int family = capability / 10;
  return family == 5 || family == 11 || family == 12 ||
         std::set{61, 62, 75, 86, 87, 88, 89, 103}.contains(capability);
}

int64_t block_of(int64_t order, int64_t wanted) {
  return wanted > 0 ? wanted : gpu_lu_block(order);
}

}  // namespace

int64_t gpu_lu_block(int64_t order) {
  if (order < 4000) return 64;
  if (order < 16000) return 128;
  return order < 48000 ? 256 : 512;
}

// No multiple of a page, so that the elements of a row do not lie in the same channel of memory.
int64_t gpu_lu_distance(int64_t order) {
  const int64_t rows = (order + 31) / 32 * 32;
  return rows % 512 == 0 ? rows + 32 : rows;
}

int64_t gpu_lu_bytes(int64_t order, int64_t block) {
  const int64_t matrix = gpu_lu_distance(order) * (order + 1);
  const int64_t exchange = block * (order + 1) + 2 * block * (block + 4);
  const int64_t check = (2 * kernels::lu_residual_parts + 2) * order;
  return kDouble * (matrix + exchange + check + 2 * kernels::lu_most_picks + 1);
}

int64_t gpu_lu_order(int64_t free_bytes, int64_t block) {
  const auto room =
      static_cast<int64_t>(kShareOfFree * static_cast<double>(free_bytes)) - kLibraryBytes;
  int64_t low = 1, high = 1 << 12;  // in multiples
  while (low + 1 < high) {
    const int64_t middle = (low + high) / 2;
    const int64_t order = middle * kOrderMultiple;
    (gpu_lu_bytes(order, block_of(order, block)) <= room ? low : high) = middle;
  }
  return low * kOrderMultiple;
}

Said weak_fp64(const GpuSku* sku, const std::string& name, int capability) {
  if (sku == nullptr) {
    if (!has_few_units(capability)) return {};
    return said("gpu_lu.few_units", name, fmt::format("{}.{}", capability / 10, capability % 10));
  }
  const auto peak = peak_of(sku, "fp64");
  if (!peak) return said("gpu_lu.no_fp64", sku->name);
  if (*peak >= kLeastFp64) return {};
  return said("gpu_lu.weak", sku->name, Quantity{*peak, "flops_per_second"});
}

}  // namespace cb
