#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "bench/training/backend.h"
#include "bench/training/cuda/device_products.h"
#include "bench/training/cuda/device_queue.h"
#include "bench/training/cuda/narrow_weights.h"
#include "bench/training/cuda/scratch.h"
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

// What a step of one token a sequence queues from kernels/infer.h. With `bf16` the cache and the
// operands of products are of bf16.
class TokenKernels {
 public:
  TokenKernels(DeviceQueue& queue, DeviceProducts& products, NarrowWeights& weights, bool bf16)
      : queue_(queue), products_(products), weights_(weights), bf16_(bf16) {}

  // Whether it has queued the product: of few rows, without scaling, by rows of both operands.
  bool multiply(const cublaslt::RowMajorProduct& product);
  // q: the first part of rows of shape.stride() elements. `narrow_out`: out is of bf16.
  void attend(const float* q, const float* cache, float* out, const AttentionShape& shape,
              bool narrow_out = false);
  // None: the kernels do not take the layer, or a matrix is not there in bf16.
  std::optional<TokenProducts> products_of(const TokenLayer<float>& layer);
  // cosines, sines: of each position dim/2.
  void layer(const TokenLayer<float>& layer, const TokenProducts& products, const float* cosines,
             const float* sines);

 private:
  DeviceQueue& queue_;
  DeviceProducts& products_;
  NarrowWeights& weights_;
  bool bf16_;
  Scratch<float> parts_{queue_};  // of the attention
};

}  // namespace cb::training
