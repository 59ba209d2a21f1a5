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

// A collective's buffer as the library may have to know it.
class DeviceBuffer : public CollectiveBuffer {
 public:
  virtual void* base() = 0;  // with the guard zones
  uint64_t base_bytes() const { return bytes() + 2 * kGuardBytes; }
};

// What one rank of a communicator computes on: a GPU, or host memory for a stand-in of the library.
class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;      // "GPU 3, NVIDIA H200, 0000:9b:00.0"
  virtual std::string identity() const = 0;  // equal on two ranks: they share it; empty: they may
  virtual std::string pci_address() const { return {}; }  // empty: it is no PCI device
  virtual std::string product() const = 0;  // as find_gpu_sku() takes it; empty for the host
  virtual uint64_t memory_bytes() const = 0;
  virtual uint64_t free_bytes() = 0;
  virtual void select() = 0;  // makes it the calling thread's
  virtual abi::Stream stream() = 0;
  // Memory of the library's own allocator (needed to register it) or of the device's.
  virtual std::unique_ptr<DeviceBuffer> buffer(uint64_t bytes, const Library* allocator) = 0;
  // From here on idle() asks for what has been queued so far.
  virtual void mark() = 0;
  virtual bool idle() = 0;  // throws Error if the device has failed
  // What is queued between the two becomes a graph, which launch_graph() queues as one. Destroying
  // a communicator waits for ever while a graph of its calls lives: drop_graph() comes before it.
  virtual void begin_graph() = 0;
  virtual void end_graph() = 0;
  virtual void launch_graph() = 0;
  virtual void drop_graph() = 0;
};

using Devices = std::vector<std::unique_ptr<Device>>;

// Host memory, for a library that stands in for NCCL: it does its work while it says kInProgress.
Devices host_devices(int count);

// Collective. The GPUs of this rank, every GPU of a host on exactly one of its ranks; or why there
// are none, the same on all ranks.
std::variant<Devices, Said> gpu_devices(Context& context);

}  // namespace cb::nccl
