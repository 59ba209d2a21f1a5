#include "sys/storage/slot_buffers.h"

#include <cerrno>
#include <cstring>
#include <memory>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/error.h"

namespace cb {
namespace {

constexpr size_t kLargePage = size_t{2} << 20;
// From this size on, rounding up to whole huge pages at most doubles the memory.
constexpr size_t kMinForLargePages = kLargePage / 2;

[[noreturn]] void throw_no_memory(size_t slots, uint64_t slot_bytes) {
  throw Error(
      fmt::format("no memory for {} buffers of {} bytes: {}; next: free memory; io needs "
                  "less with a lower --queue-depth, --threads or --block-size",
                  slots, slot_bytes, std::strerror(errno)));
}

// Makes every page present. Kernels before 5.14 do not know the call.
bool touch(std::span<std::byte> memory) {
  if (::madvise(memory.data(), memory.size(), MADV_POPULATE_WRITE) == 0) return true;
  if (errno != EINVAL) return false;
  std::memset(memory.data(), 0, memory.size());
  return true;
}

}  // namespace

uint64_t SlotBuffers::stride(uint64_t slot_bytes) {
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return (slot_bytes + page - 1) / page * page;
}

SlotBuffers::SlotBuffers(size_t slots, uint64_t slot_bytes)
    : bytes_(slots * stride(slot_bytes)), stride_(stride(slot_bytes)) {
  mapped_bytes_ = bytes_ < kMinForLargePages
                      ? bytes_
                      : (bytes_ + kLargePage - 1) / kLargePage * kLargePage + kLargePage;
  mapped_ =
      ::mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped_ == MAP_FAILED) throw_no_memory(slots, slot_bytes);
  void* begin = mapped_;
  if (bytes_ >= kMinForLargePages) {
    size_t room = mapped_bytes_;
    std::align(kLargePage, bytes_, begin, room);
    // Only a hint: small pages work too.
    ::madvise(begin, mapped_bytes_ - kLargePage, MADV_HUGEPAGE);
  }
  data_ = static_cast<std::byte*>(begin);
  if (!touch({data_, bytes_})) {
    ::munmap(mapped_, mapped_bytes_);
    throw_no_memory(slots, slot_bytes);
  }
}

SlotBuffers::~SlotBuffers() { ::munmap(mapped_, mapped_bytes_); }

}  // namespace cb
