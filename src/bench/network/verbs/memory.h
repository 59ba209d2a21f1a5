#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sys/net/verbs.h"

namespace cb::verbs {

// Registered memory that a NIC reads and writes: of the host or of a GPU.
class TransferMemory {
 public:
  virtual ~TransferMemory() = default;
  // As the NIC knows it.
  virtual uintptr_t address() const = 0;
  virtual const ibv_mr& region() const = 0;
  // Where the host sees it: the memory itself, or a copy that push() and pull() bring there and
  // back. They throw Error, past a deadline of a minute too.
  virtual std::byte* host() const = 0;
  virtual void push() {}
  virtual void pull() {}
  // "huge pages, NUMA node 1", "GPU 0 (…) by dma-buf": for the record's facts.
  virtual std::string how() const = 0;
};

// What to register memory with, and for whom.
struct Registration {
  ibv_pd* pd = nullptr;
  bool relaxed_ordering = false;
  std::string device;  // "node03 mlx5_0", for messages
};

// Zeroed. Throws Error.
std::unique_ptr<TransferMemory> host_memory(size_t bytes, std::optional<int> numa_node,
                                            const Registration& with);

// Of the GPU with this number in CUDA's order: registered as a dma-buf, or, where that fails, by
// its address, which needs the module nvidia-peermem. Throws Error with both reasons.
std::unique_ptr<TransferMemory> gpu_memory(int ordinal, size_t bytes, const Registration& with);

// PCI addresses of the GPUs in CUDA's order, or why there are none.
struct Gpus {
  std::vector<std::string> pci_addresses;
  Said absent;  // empty if there are some
};
Gpus visible_gpus();

}  // namespace cb::verbs
