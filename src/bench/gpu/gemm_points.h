#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/params.h"

namespace cb {

// A type of the operands that cuBLASLt multiplies, as `--dtype` names it.
struct GpuDtype {
  std::string name;
  double bytes = 0;          // of one element of A and B
  int least_capability = 0;  // compute capability × 10 that has units for it
  bool integer = false;      // counted as operations, not FLOP
};
const std::vector<GpuDtype>& gpu_dtypes();
std::vector<std::string> gpu_dtype_names();
const GpuDtype& gpu_dtype(const std::string& name);  // throws Error for an unknown name

// C (m×n) = A (m×k) · B (k×n).
struct GemmPoint {
  std::string dtype;
  int64_t m = 0, n = 0, k = 0;
  Params params;  // of its record
};

// What an edge of a product of that type has to be a multiple of, so that every result is whole
// words: 16, 32 for fp4. cuBLASLt asks for it where elements have one byte or less.
int64_t edge_multiple(const GpuDtype& type);

// Every point that the parameters ask for; with --search one per type, whose shape is yet to be
// found.
std::vector<GemmPoint> gemm_points(const Params& params);

// --m, --n and --k go together, and 8-bit and narrower types need multiples of 16 (32 for fp4):
// cuBLASLt documents both alignments.
void check_gemm_points(const Params& params, Problems& problems);

// Shapes that the search times: the squares and the oblong ones in which fleets reached their best
// (stas00/ml-engineering, mamf-finder), all multiples of 256.
struct GemmShapeMnk {
  int64_t m = 0, n = 0, k = 0;
};
std::vector<GemmShapeMnk> search_shapes();

}  // namespace cb
