#pragma once

#include <cstdint>
#include <map>

#include "bench/training/cuda/device_products.h"
#include "bench/training/cuda/device_queue.h"
#include "bench/training/cuda/narrow_weights.h"
#include "bench/training/cuda/scratch.h"
#include "kernels/train.h"
#include "sys/gpu/cuda/products.h"

namespace cb::training {

// Products of fp32 matrices in eight bits, each matrix scaled by its largest element when it is
// rounded: weights and what goes through the layers to E4M3, gradients to E5M2. The library sums
// over contiguous elements alone, so weights and gradients are kept as they stand and turned.
class EightBitProducts {
 public:
  EightBitProducts(DeviceQueue& queue, DeviceProducts& products, NarrowWeights& weights)
      : queue_(queue), products_(products), weights_(weights) {}

  // False: it is none of a layer's three products, or a size is no multiple of 16; nothing is done.
  bool multiply(const cublaslt::RowMajorProduct& product);

 private:
  // A matrix as it is stored.
  struct Operand {
    const float* data = nullptr;
    int64_t rows = 0, columns = 0, leading = 0;
    bool operator==(const Operand&) const = default;
    int64_t count() const { return rows * columns; }
  };
  // The same in eight bits; a way that nobody wants is null.
  struct Eight {
    const std::uint8_t* plain = nullptr;
    const std::uint8_t* turned = nullptr;
    const kernels::TrainUnit* unit = nullptr;
  };
  struct Held {
    Operand operand = {};
    Eight eight = {};
    uint64_t behind = 0;  // what was queued in all behind the product
  };
  static Operand operand_a(const cublaslt::RowMajorProduct& p);
  static Operand operand_b(const cublaslt::RowMajorProduct& p);
  Eight prepared_a(const cublaslt::RowMajorProduct& p);
  Eight prepared_b(const cublaslt::RowMajorProduct& p);
  Eight weights_of(const Operand& matrix);
  Eight rounded(const Operand& from, std::uint8_t* plain, std::uint8_t* turned,
                kernels::TrainUnit* unit, bool gradient);
  kernels::TrainUnit* unit_at(int64_t slot) { return units_.of(kUnits) + slot; }

  static constexpr int64_t kUnits = 1 << 16;  // of A, of B, and of as many weights
  DeviceQueue& queue_;
  DeviceProducts& products_;
  NarrowWeights& weights_;
  Held held_;
  std::map<const float*, int64_t> slots_;  // of weights
  Scratch<kernels::TrainUnit> units_{queue_};
};

}  // namespace cb::training
