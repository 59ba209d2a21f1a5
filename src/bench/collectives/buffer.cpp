#include "bench/collectives/buffer.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>

namespace cb {
namespace {

constexpr std::byte kGuard{CollectiveBuffer::kGuardValue};

class HostBuffer final : public CollectiveBuffer {
 public:
  explicit HostBuffer(uint64_t bytes) : bytes_(bytes) {
    constexpr uint64_t page = 4096;
    const uint64_t whole = (bytes + 2 * kGuardBytes + page - 1) / page * page;
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(page, whole)));
    if (memory_ == nullptr) throw std::bad_alloc();
    // Touches every page, so that the first timed call does not.
    std::fill_n(memory_.get(), whole, kGuard);
  }

  std::byte* data() override { return memory_.get() + kGuardBytes; }
  uint64_t bytes() const override { return bytes_; }

  bool guards_intact() override {
    const auto intact = [](const std::byte* from) {
      return std::all_of(from, from + kGuardBytes, [](std::byte b) { return b == kGuard; });
    };
    return intact(memory_.get()) && intact(memory_.get() + kGuardBytes + bytes_);
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
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::span<std::byte> span(Extent extent) { return {data() + extent.at, extent.bytes}; }

  uint64_t bytes_;
  std::unique_ptr<std::byte, Free> memory_;
};

}  // namespace

std::unique_ptr<CollectiveBuffer> host_buffer(uint64_t bytes) {
  return std::make_unique<HostBuffer>(bytes);
}

}  // namespace cb
