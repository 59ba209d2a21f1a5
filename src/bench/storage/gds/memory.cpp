#include "bench/storage/gds/memory.h"

#include <cstring>

#include "bench/storage/io/buffer.h"

namespace cb::gds {
namespace {

class HostIoMemory : public IoMemory {
 public:
  explicit HostIoMemory(size_t bytes) : buffer_(1, bytes) {}
  void* data() override { return buffer_.slot(0); }
  void* stream() override { return nullptr; }
  void put(size_t at, std::span<const std::byte> bytes) override {
    std::memcpy(buffer_.slot(0) + at, bytes.data(), bytes.size());
  }
  void get(size_t at, std::span<std::byte> bytes) override {
    std::memcpy(bytes.data(), buffer_.slot(0) + at, bytes.size());
  }

 private:
  io::SlotBuffers buffer_;
};

}  // namespace

std::unique_ptr<IoMemory> host_memory(size_t bytes) {
  return std::make_unique<HostIoMemory>(bytes);
}

}  // namespace cb::gds
