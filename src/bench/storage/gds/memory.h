#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace cb::gds {

// Where data goes to and comes from: memory of a GPU, or of the host for machines without one.
class IoMemory {
 public:
  virtual ~IoMemory() = default;
  virtual void* data() = 0;
  virtual void* stream() = 0;  // a cudaStream_t to put requests into; null is the default stream
  virtual void put(size_t at, std::span<const std::byte> bytes) = 0;  // throw Error
  virtual void get(size_t at, std::span<std::byte> bytes) = 0;
};

std::unique_ptr<IoMemory> host_memory(size_t bytes);
// Throws Error where there is no such GPU, or this program was built without CUDA.
std::unique_ptr<IoMemory> gpu_memory(int ordinal, size_t bytes);

}  // namespace cb::gds
