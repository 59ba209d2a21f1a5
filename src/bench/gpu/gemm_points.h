#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/params.h"

namespace cb {

// A type of operands that cuBLASLt multiplies, by its name in `--dtype`.
struct GpuDtype {
  std::string name;
  double bytes = 0;          // bytes of one element of A and B; 0.5: fp4
  int least_capability = 0;  // lowest compute capability × 10 with units for this type
  bool integer = false;      // operations are counted, not FLOP
};
const std::vector<GpuDtype>& gpu_dtypes();
std::vector<std::string> gpu_dtype_names();
const GpuDtype& gpu_dtype(const std::string& name);  // throws Error for an unknown name

// C (m×n) = A (m×k) · B (k×n).
struct GemmPoint {
  std::string dtype;
  int64_t m = 0, n = 0, k = 0;
  Params params;  // parameters of the point's record
};

// Every edge of a product of that type must be a multiple of this, so that a result fills whole
// words: 16, for fp4 32. cuBLASLt requires it for elements of one byte or less.
int64_t edge_multiple(const GpuDtype& type);

// Every point that the parameters ask for. With --search there is one per type; its shape is found
// later.
std::vector<GemmPoint> gemm_points(const Params& params);

// Adds a problem unless --m, --n and --k come together and every edge has the multiple that the
// type needs: 16 for 8-bit and narrower types, 32 for fp4. cuBLASLt documents both.
void check_gemm_points(const Params& params, Problems& problems);

// The shapes that the search times: squares, and oblong shapes in which fleets reached their best
// (stas00/ml-engineering, mamf-finder). All edges are multiples of 256.
struct GemmShapeMnk {
  int64_t m = 0, n = 0, k = 0;
};
std::vector<GemmShapeMnk> search_shapes();

}  // namespace cb
