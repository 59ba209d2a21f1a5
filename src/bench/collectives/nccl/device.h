#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "bench/collectives/buffer.h"
#include "bench/harness/case.h"
#include "sys/gpu/nccl.h"

namespace cb::nccl {

// A collective's buffer, with what the library must know to register it.
class DeviceBuffer : public CollectiveBuffer {
 public:
  virtual void* base() = 0;  // begins with the guard zone
  uint64_t base_bytes() const { return bytes() + 2 * kGuardBytes; }
};

// The device of one rank of a communicator: a GPU, or host memory for a stand-in library.
class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;      // "GPU 3, NVIDIA H200, 0000:9b:00.0"
  virtual std::string identity() const = 0;  // equal on two ranks: they share it; empty: unknown
  virtual std::string pci_address() const { return {}; }  // empty: no PCI device
  virtual std::string product() const = 0;  // name for find_gpu_sku(); empty for the host
  virtual uint64_t memory_bytes() const = 0;
  virtual uint64_t free_bytes() = 0;
  virtual void select() = 0;  // makes it the calling thread's device
  virtual abi::Stream stream() = 0;
  // Makes a buffer in memory of the library's allocator (needed to register it), or of the device
  // if `allocator` is null.
  virtual std::unique_ptr<DeviceBuffer> buffer(uint64_t bytes, const Library* allocator) = 0;
  // idle() then tells whether everything that was queued before mark() is done.
  virtual void mark() = 0;
  virtual bool idle() = 0;  // throws Error if the device has failed
  // What is queued between begin_graph() and end_graph() becomes a graph; launch_graph() queues it
  // as one. Call drop_graph() before a communicator is destroyed: destroying waits for ever while a
  // graph of its calls lives.
  virtual void begin_graph() = 0;
  virtual void end_graph() = 0;
  virtual void launch_graph() = 0;
  virtual void drop_graph() = 0;
};

using Devices = std::vector<std::unique_ptr<Device>>;

// Host memory, for a stand-in of NCCL. It does its work while it reports kInProgress.
Devices host_devices(int count);

// Collective. The GPUs of this rank; every GPU of a host belongs to exactly one of its ranks. Else
// the reason why there are none, the same on all ranks.
std::variant<Devices, Said> gpu_devices(Context& context);

}  // namespace cb::nccl
