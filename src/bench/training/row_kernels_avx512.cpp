// Compiled with instructions that row_kernels.cpp looks for before it calls any of this.
#if defined(__AVX512F__)
#define CB_TRAINING_ISA avx512
#include "bench/training/row_kernels_body.h"

namespace cb::training {

const RowKernels<float>* avx512_kernels() {
  static constexpr RowKernels<float> table = avx512::table_of<float>("avx512");
  return &table;
}

}  // namespace cb::training
#else
#include "bench/training/row_kernels.h"

namespace cb::training {

const RowKernels<float>* avx512_kernels() { return nullptr; }

}  // namespace cb::training
#endif
