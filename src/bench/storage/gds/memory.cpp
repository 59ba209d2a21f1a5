#include "bench/storage/gds/memory.h"

#include <cstring>

#include "sys/storage/slot_buffers.h"

namespace cb::gds {
namespace {

class HostIoMemory : public IoMemory {
 public:
  explicit HostIoMemory(size_t bytes) : bytes_(bytes), buffer_(1, bytes), staging_(1, bytes) {}
  std::string name() const override { return "host"; }
  void* data() override { return buffer_.slot(0); }
  void* stream() override { return nullptr; }
  std::span<std::byte> staging() override { return {staging_.slot(0), bytes_}; }
  void put(size_t at, size_t bytes) override {
    std::memcpy(buffer_.slot(0) + at, staging_.slot(0) + at, bytes);
  }
  void get(size_t at, size_t bytes) override {
    std::memcpy(staging_.slot(0) + at, buffer_.slot(0) + at, bytes);
  }
  void settle() override {}

 private:
  size_t bytes_;
  SlotBuffers buffer_, staging_;
};

}  // namespace

std::unique_ptr<IoMemory> host_memory(size_t bytes) {
  return std::make_unique<HostIoMemory>(bytes);
}

}  // namespace cb::gds
