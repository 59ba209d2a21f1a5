#include "bench/collectives/buffer.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <span>

#include <sys/mman.h>

namespace cb {
namespace {

constexpr std::byte kGuard{CollectiveBuffer::kGuardValue};

struct Unmap {
  size_t bytes = 0;
  void operator()(void* p) const { ::munmap(p, bytes); }
};
using Mapping = std::unique_ptr<void, Unmap>;

// Pages fresh from the kernel: what the heap hands out again keeps the pages that it has.
Mapping map(size_t bytes) {
  void* const out =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (out == MAP_FAILED) throw std::bad_alloc();
  return Mapping(out, {bytes});
}

// The data of a large one is on huge pages where the kernel has some: on pages of 4 KiB an alltoall
// of 4 MiB takes up to a third longer, by where the kernel finds them (decision 0149).
class HostBuffer final : public CollectiveBuffer {
 public:
  explicit HostBuffer(uint64_t bytes) : bytes_(bytes) {
    const size_t page = bytes < kHugePage ? kPage : kHugePage;
    size_t room = page + bytes + kGuardBytes;
    memory_ = map(kGuardBytes + room);
    void* begin = static_cast<std::byte*>(memory_.get()) + kGuardBytes;
    data_ = static_cast<std::byte*>(std::align(page, bytes + kGuardBytes, begin, room));
    if (page == kHugePage) {  // only advice; what is beside the data has no use for huge pages
      ::madvise(memory_.get(), memory_.get_deleter().bytes, MADV_NOHUGEPAGE);
      ::madvise(data_, bytes, MADV_HUGEPAGE);
    }
    // Touches every page, so that the first timed call does not.
    std::fill_n(data_ - kGuardBytes, bytes + 2 * kGuardBytes, kGuard);
  }

  std::byte* data() override { return data_; }
  uint64_t bytes() const override { return bytes_; }

  bool guards_intact() override {
    const auto intact = [](const std::byte* from) {
      return std::all_of(from, from + kGuardBytes, [](std::byte b) { return b == kGuard; });
    };
    return intact(data_ - kGuardBytes) && intact(data_ + bytes_);
  }

  void set(Extent extent, uint8_t value) override {
    if (extent.bytes > 0) std::memset(data() + extent.at, value, extent.bytes);
  }
  void fill_pattern(Extent extent, uint64_t rank, uint64_t iteration,
                    uint64_t first_byte) override {
    cb::fill_pattern(span(extent), rank, iteration, first_byte);
  }
  void fill_terms(Extent extent, const Terms& terms, uint64_t rank) override {
    cb::fill_terms(terms, rank, span(extent));
  }
  std::optional<Mismatch> verify_pattern(Extent extent, uint64_t rank, uint64_t iteration,
                                         uint64_t first_byte, uint64_t bytes_per_element) override {
    return cb::verify_pattern(span(extent), rank, iteration, first_byte, bytes_per_element);
  }
  std::optional<Mismatch> verify_reduced(Extent extent, const Terms& terms,
                                         uint64_t first_index) override {
    return cb::verify_reduced(terms, first_index, span(extent));
  }
  void flip(int64_t at) override { data()[at] ^= std::byte{0x10}; }

 private:
  static constexpr uint64_t kPage = 4096, kHugePage = 2 << 20;

  std::span<std::byte> span(Extent extent) { return {data() + extent.at, extent.bytes}; }

  uint64_t bytes_;
  Mapping memory_;
  std::byte* data_ = nullptr;
};

}  // namespace

std::unique_ptr<CollectiveBuffer> host_buffer(uint64_t bytes) {
  return std::make_unique<HostBuffer>(bytes);
}

}  // namespace cb
