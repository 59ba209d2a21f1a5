#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace cb::gds {

// Where data goes to and comes from: memory of a GPU, or of the host for machines without one.
class IoMemory {
 public:
  virtual ~IoMemory() = default;
  virtual void* data() = 0;
  virtual void* stream() = 0;  // a cudaStream_t to put requests into; null is the default stream
  virtual std::string name() const = 0;  // "GPU 3", "host"
  // Host memory of the same size for what goes by way of the host: page-locked, as a copy to a GPU
  // needs it for its full rate.
  virtual std::span<std::byte> staging() = 0;
  // Begins the copy of a part of it to its place, or back; settle() waits for all. Throw Error.
  virtual void put(size_t at, size_t bytes) = 0;
  virtual void get(size_t at, size_t bytes) = 0;
  virtual void settle() = 0;
};

std::unique_ptr<IoMemory> host_memory(size_t bytes);
// The GPU of that CUDA number; without one that of the rank's place on its host, modulo the GPUs.
// Throws Error where there is no such GPU, or this program was built without CUDA.
std::unique_ptr<IoMemory> gpu_memory(std::optional<int> ordinal, int local_rank, size_t bytes);

}  // namespace cb::gds
