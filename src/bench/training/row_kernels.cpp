#include "bench/training/row_kernels.h"

namespace cb::training {
namespace {

#if defined(__x86_64__)
bool runs_avx512() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0;
}
bool runs_avx2() {
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
}
#else
bool runs_avx512() { return false; }
bool runs_avx2() { return false; }
#endif

}  // namespace

const RowKernels<float>& row_kernels_of(float) {
  if (runs_avx512() && avx512_kernels() != nullptr) return *avx512_kernels();
  if (runs_avx2() && avx2_kernels() != nullptr) return *avx2_kernels();
  return *generic_kernels();
}

const RowKernels<double>& row_kernels_of(double) { return *generic_double_kernels(); }

}  // namespace cb::training
