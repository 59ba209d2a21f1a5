// The one header through which the CUDA runtime is called. The runtime is linked statically and
// opens the driver at the first call, so the binary starts on hosts without one. Built only if nvcc
// is found (CLUSTERBENCH_CUDA). Every failure throws Error naming call and device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "core/error.h"

namespace cb::cuda {

// The device has less free memory than was asked for; it is fine otherwise.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

// One device as CUDA sees it. CUDA and NVML order devices differently: match by uuid.
struct Device {
  int ordinal = 0;
  std::string name;
  std::string uuid;            // "GPU-5a3c…"; "MIG-…" for a slice of a GPU
  std::string pci_address;     // "0000:9b:00.0"
  int compute_capability = 0;  // 90 for 9.0
  int sms = 0;
  int64_t l2_bytes = 0;
  int64_t memory_bytes = 0;
};

// No device can be used here, and why ("CUDA driver version is insufficient …").
struct Absent {
  Said reason;
};

std::variant<std::vector<Device>, Absent> devices();

std::string driver_version();   // "13.0": version of the CUDA API that the driver has
int driver_major();             // 13; 0 if the driver does not say
std::string runtime_version();  // version of the linked runtime

// Selects the device for the calling thread: what it creates next belongs to this device.
void select(int ordinal);

struct MemoryInfo {
  int64_t free_bytes = 0;
  int64_t total_bytes = 0;
};
MemoryInfo memory_info();  // reads the selected device

class Stream;

// Memory of the selected device.
class DeviceMemory {
 public:
  explicit DeviceMemory(size_t bytes);
  ~DeviceMemory();
  DeviceMemory(DeviceMemory&& other) noexcept;
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;
  DeviceMemory(const DeviceMemory&) = delete;

  void* data() const { return data_; }
  std::byte* at(size_t offset) const { return static_cast<std::byte*>(data_) + offset; }
  size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

// Memory of the device's pool, taken and given back in the order of the stream. The stream must
// live longer.
class PoolMemory {
 public:
  PoolMemory(size_t bytes, const Stream& stream);
  ~PoolMemory();
  PoolMemory(const PoolMemory&) = delete;
  PoolMemory& operator=(const PoolMemory&) = delete;

  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
  const Stream& stream_;
};

// Host memory, page-locked for the devices or in ordinary pages, on the calling thread's NUMA node.
class HostMemory {
 public:
  HostMemory(size_t bytes, bool pinned);
  ~HostMemory();
  HostMemory(HostMemory&& other) noexcept;
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
  bool pinned_ = false;
};

// Which of the blocks that wait for room on the device are taken first.
enum class Priority { usual, high };

// A queue of work on the device that was selected when it was made.
class Stream {
 public:
  explicit Stream(Priority priority = Priority::usual);
  ~Stream();
  Stream(Stream&& other) noexcept;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void* handle() const { return handle_; }  // a cudaStream_t

 private:
  void* handle_ = nullptr;
};

// A point in a stream, with its time.
class Event {
 public:
  Event();
  ~Event();
  Event(Event&& other) noexcept;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(const Stream& stream);
  bool reached() const;  // throws if the device has failed meanwhile
  double seconds_since(const Event& start) const;
  // Makes the stream wait for this point.
  void hold(const Stream& stream) const;
  // Waits for the point, sleeping between polls. After `deadline_seconds` throws Error (deadline)
  // naming `what` and the device: a device that hangs must not hang us.
  void wait(double deadline_seconds, const std::string& what) const;
  // The same without sleeping, for what takes microseconds. `meanwhile` is called between two
  // polls.
  void spin(double deadline_seconds, const std::string& what,
            const std::function<void()>& meanwhile = {}) const;

 private:
  void poll(double deadline_seconds, const std::string& what,
            const std::function<void()>& meanwhile) const;
  void* handle_ = nullptr;
  int ordinal_ = 0;
};

// Waits for all work queued on the stream so far, with a deadline as in Event::wait().
void wait(const Stream& stream, double deadline_seconds, const std::string& what);

// Copies between any two places that the driver can tell apart by address: by copy engine, or
// through the driver's staging buffers for ordinary host pages.
void copy(void* to, const void* from, size_t bytes, const Stream& stream);
// Copies bytes from the device to ordinary host memory after the work queued so far. Waits with the
// deadline of Event::wait(), because a copy to pageable memory would itself wait for ever.
void fetch(void* to, const void* from, size_t bytes, const Stream& stream, double deadline_seconds,
           const std::string& what);
void zero(void* to, size_t bytes, const Stream& stream);
void fill(void* to, uint8_t value, size_t bytes, const Stream& stream);
void poison(void* to, size_t bytes, const Stream& stream);  // sets all bits: NaN in every type

// Gives `ordinal` direct access to the memory of `peer`. Returns false if the hardware or a setting
// (ACS, IOMMU, MIG) does not allow it. Selects `ordinal`.
bool enable_peer(int ordinal, int peer);

// Drops an error that the runtime keeps for this thread: the next launch on any device would report
// it as its own.
void forget_error();

// True if `code`, which find_kernels() returned, says that this program has no code for the device.
bool lacks_code(int code);

// Throws Error if `code`, which a kernel launcher returned, is not success.
void check_launch(int code, const char* kernel);

}  // namespace cb::cuda
