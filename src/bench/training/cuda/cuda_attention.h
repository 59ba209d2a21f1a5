#pragma once

#include <functional>

#include "bench/training/backend.h"
#include "bench/training/cuda/device_queue.h"
#include "sys/gpu/cuda/products.h"

namespace cb::training {

// Grouped causal attention on a GPU: products of the heads that share keys and values as one batch,
// and softmax between them. Of each head a block of rows is computed against the columns that these
// rows see; only the log sums are kept, and the backward computes the scores again.
struct CudaAttention {
  DeviceQueue& queue;
  std::function<void(const cublaslt::RowMajorProduct&)> multiply;
  int64_t block_rows;  // of scores at a time
  float* scratch;      // scores_of(shape) elements, twice that for backward

  static int64_t scores_of(const AttentionShape& shape, int64_t block_rows);
  void forward(const float* qkv, float* out, float* log_sums, const AttentionShape& shape) const;
  void forward_cached(const float* qkv, const float* cache, float* out, float* log_sums,
                      const AttentionShape& shape) const;
  void backward(const float* qkv, const float* out, const float* dout, const float* log_sums,
                float* dqkv, const AttentionShape& shape) const;
};

}  // namespace cb::training
