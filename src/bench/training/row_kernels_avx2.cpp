// Compiled with instructions that row_kernels.cpp looks for before it calls any of this.
#if defined(__AVX2__)
#define CB_TRAINING_ISA avx2
#include "bench/training/row_kernels_body.h"

namespace cb::training {

const RowKernels<float>* avx2_kernels() {
  static constexpr RowKernels<float> table = avx2::table_of<float>("avx2");
  return &table;
}

}  // namespace cb::training
#else
#include "bench/training/row_kernels.h"

namespace cb::training {

const RowKernels<float>* avx2_kernels() { return nullptr; }

}  // namespace cb::training
#endif
