#pragma once

#include <array>
#include <cstdint>

#include "bench/training/backend.h"
#include "bench/training/cuda/device_queue.h"
#include "kernels/infer.h"

namespace cb::training {

// A layer's matrices as the kernels read them.
struct TokenMatrices {
  const void *qkv, *out, *gate_up, *down;
};

// The products of a layer of one token a sequence.
struct TokenProducts {
  kernels::InferProduct qkv, out, gated, down;

  // What goes into a product is of bf16 if the product is: it takes half of the array's room.
  TokenProducts(const TokenLayer<float>& layer, const TokenMatrices& matrices, bool narrow);
  // Whether kernels/infer.h takes so many rows of them.
  bool taken() const;
  // As a library would see them.
  static std::array<MatmulKey, 4> keys_of(const TokenLayer<float>& layer);
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
  void layer(const TokenLayer<float>& layer, const TokenProducts& products, const float* cosines,
             const float* sines) const;
};

}  // namespace cb::training
