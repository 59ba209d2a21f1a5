#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sys/net/verbs.h"

namespace cb::verbs {

// Registered memory that a NIC reads and writes: host memory or GPU memory.
class TransferMemory {
 public:
  virtual ~TransferMemory() = default;
  // The address as the NIC knows it.
  virtual uintptr_t address() const = 0;
  virtual const ibv_mr& region() const = 0;
  // The memory as the host sees it: the memory itself, or a copy. push() writes the copy to the
  // memory, pull() reads it back. Both throw Error, also after a deadline of a minute.
  virtual std::byte* host() const = 0;
  virtual void push() {}
  virtual void pull() {}
  // A text for the record's facts: "huge pages, NUMA node 1", "GPU 0 by dma-buf".
  virtual std::string how() const = 0;
};

// What is needed to register memory.
struct Registration {
  ibv_pd* pd = nullptr;
  bool relaxed_ordering = false;
  std::string device;  // "node03 mlx5_0", for messages
};

// The memory is zeroed. Throws Error.
std::unique_ptr<TransferMemory> host_memory(size_t bytes, std::optional<int> numa_node,
                                            const Registration& with);

// Memory of the GPU with this number in CUDA's order. It is registered as a dma-buf; if that fails,
// by its address, which needs the module nvidia-peermem. Throws Error with both reasons.
std::unique_ptr<TransferMemory> gpu_memory(int ordinal, size_t bytes, const Registration& with);

// PCI addresses of the GPUs in CUDA's order, or the reason why there are none.
struct Gpus {
  std::vector<std::string> pci_addresses;
  Said absent;  // empty if there are GPUs
};
Gpus visible_gpus();

}  // namespace cb::verbs
