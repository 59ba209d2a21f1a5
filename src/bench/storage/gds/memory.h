#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace cb::gds {

// The memory that data comes from or goes to: a GPU's, or the host's on machines without a GPU.
class IoMemory {
 public:
  virtual ~IoMemory() = default;
  virtual void* data() = 0;
  virtual void* stream() = 0;  // a cudaStream_t that takes requests; null: the default stream
  virtual std::string name() const = 0;  // "GPU 3", "host"
  // Host memory of the same size, for data that goes by way of the host. It is page-locked, which a
  // copy to a GPU needs for its full rate.
  virtual std::span<std::byte> staging() = 0;
  // put() begins a copy of bytes [at, at + bytes) from staging() to data(), get() the copy back;
  // settle() waits for all copies. All three throw Error.
  virtual void put(size_t at, size_t bytes) = 0;
  virtual void get(size_t at, size_t bytes) = 0;
  virtual void settle() = 0;
};

std::unique_ptr<IoMemory> host_memory(size_t bytes);
// Memory of the GPU with this CUDA number; without a number, the GPU is `local_rank` modulo the
// number of GPUs. Throws Error if there is no such GPU or this program was built without CUDA.
std::unique_ptr<IoMemory> gpu_memory(std::optional<int> ordinal, int local_rank, size_t bytes);

}  // namespace cb::gds
