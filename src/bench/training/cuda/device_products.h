#pragma once

#include <cstdint>
#include <memory>

#include "bench/training/cuda/device_queue.h"
#include "bench/training/cuda/narrow_weights.h"
#include "bench/training/cuda/scratch.h"
#include "sys/gpu/cuda/products.h"

namespace cb::training {

// Products of fp32 arrays by cuBLASLt on a queue. With `bf16` both operands are rounded first, each
// no more often than it must: weights once until they change, and an operand of two products that
// come one behind the other once.
class DeviceProducts {
 public:
  DeviceProducts(DeviceQueue& queue, const cublaslt::Library& library, bool bf16,
                 NarrowWeights& weights)
      : queue_(queue),
        weights_(weights),
        library_(std::make_unique<cublaslt::Products>(library)),
        bf16_(bf16) {}
  ~DeviceProducts() {
    if (!queue_.idle()) static_cast<void>(library_.release());
  }
  DeviceProducts(const DeviceProducts&) = delete;
  DeviceProducts& operator=(const DeviceProducts&) = delete;

  void multiply(cublaslt::RowMajorProduct product);
  // Of operands that are rounded already, or need not be.
  void queue_product(const cublaslt::RowMajorProduct& product) {
    queue_.queue([&] { library_->run(product, queue_.stream()); });
  }
  // A or B in bf16, for a product of another's; sets its distances.
  const void* rounded_a(cublaslt::RowMajorProduct& product);
  const void* rounded_b(cublaslt::RowMajorProduct& product);
  // What was rounded before is not what will be read: a recording runs later.
  void forget_operands() { rounded_a_ = {}; }
  // Room for operands of 16 bits an element of others, until the next product.
  uint16_t* room_a(int64_t count) {
    forget_operands();
    return room_a_.of(count);
  }
  uint16_t* room_b(int64_t count) { return room_b_.of(count); }

 private:
  // An operand as it is stored.
  struct Operand {
    const void* data = nullptr;
    int64_t rows = 0, columns = 0, leading = 0, step = 0;
    int32_t batch = 0;
    bool operator==(const Operand&) const = default;
  };
  struct Rounded {
    Operand operand = {};
    const void* data = nullptr;
    uint64_t behind = 0;  // what was queued in all behind the product
  };
  const void* rounded(Scratch<uint16_t>& room, const Operand& from);

  DeviceQueue& queue_;
  NarrowWeights& weights_;
  std::unique_ptr<cublaslt::Products> library_;
  bool bf16_;
  Rounded rounded_a_;
  Scratch<uint16_t> room_a_{queue_}, room_b_{queue_};
};

}  // namespace cb::training
