#pragma once

#include <cstdint>

#include "sys/gpu/cuda/cuda.h"

namespace cb {

// An array of the selected device.
template <typename T>
class DeviceItems {
 public:
  explicit DeviceItems(int64_t count) : memory_(static_cast<size_t>(count) * sizeof(T)) {}
  T* at(int64_t index = 0) const { return static_cast<T*>(memory_.data()) + index; }

 private:
  cuda::DeviceMemory memory_;
};

}  // namespace cb
