// Compiled for every processor of the architecture, and in double precision for gradients by
// differences.
#define CB_TRAINING_ISA generic
#include "bench/training/row_kernels_body.h"

namespace cb::training {

const RowKernels<float>* generic_kernels() {
  static constexpr RowKernels<float> table = generic::table_of<float>("generic");
  return &table;
}

const RowKernels<double>* generic_double_kernels() {
  static constexpr RowKernels<double> table = generic::table_of<double>("generic");
  return &table;
}

}  // namespace cb::training
