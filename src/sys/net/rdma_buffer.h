#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace cb {

// Zeroed memory that a network device reads and writes: in huge pages if the host has free ones,
// else in ordinary pages; on the device's NUMA node if one is given and the kernel agrees.
class DeviceBuffer {
 public:
  // Throws Error if there is no memory.
  explicit DeviceBuffer(size_t bytes, std::optional<int> numa_node = {});
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  std::byte* data() const { return data_; }
  size_t size() const { return bytes_; }
  // "huge pages, NUMA node 1": goes into the record's facts.
  std::string how() const;

 private:
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
  bool huge_ = false;
  std::optional<int> node_;
};

}  // namespace cb
