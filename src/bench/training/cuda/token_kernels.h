#pragma once

#include <array>
#include <cstdint>

#include "bench/training/backend.h"
#include "bench/training/cuda/device_queue.h"

namespace cb::training {

// A layer's products in their order, and its matrices as the kernels read them.
struct TokenMatrices {
  const void *qkv, *out, *gate_up, *down;
};

// What a step of one token a sequence queues from kernels/infer.h.
struct TokenKernels {
  DeviceQueue& queue;
  bool narrow;   // cache and matrices are of bf16
  float* parts;  // of the attention: kernels::infer_attention_parts() numbers

  // q: the first part of rows of shape.stride() elements. `narrow_out`: out is of bf16.
  void attend(const float* q, const float* cache, float* out, const AttentionShape& shape,
              bool narrow_out = false) const;
  // cosines, sines: of each position dim/2.
  void layer(const TokenLayer<float>& layer, const TokenMatrices& matrices, const float* cosines,
             const float* sines) const;

  // The layer's products: rows, outputs and inputs of qkv, out, gate_up and down.
  static std::array<MatmulKey, 4> products_of(const TokenLayer<float>& layer);
};

}  // namespace cb::training
