#pragma once

#include <cstdint>

#include "bench/training/backend.h"
#include "bench/training/cuda/device_queue.h"

namespace cb::training {

// Causal attention of bf16 on a GPU without scores in memory: kernels/train.h.
struct FlashAttention {
  DeviceQueue& queue;
  uint16_t* narrow_qkv;             // tokens · stride numbers
  uint16_t* narrow_dout = nullptr;  // of the backward: tokens · heads · dim numbers
  float* dots = nullptr;            // of the backward: dots_of(shape) numbers

  static bool takes(const AttentionShape& shape);
  static int64_t dots_of(const AttentionShape& shape);
  void forward(const float* qkv, float* out, float* log_sums, const AttentionShape& shape) const;
  void backward(const float* qkv, const float* out, const float* dout, const float* log_sums,
                float* dqkv, const AttentionShape& shape) const;

 private:
  void narrow(const float* qkv, const AttentionShape& shape) const;
};

}  // namespace cb::training
