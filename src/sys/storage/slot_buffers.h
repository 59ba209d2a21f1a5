#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cb {

// Page-aligned memory in one piece, cut into equal slots. Every page is present before it is used.
// From 1 MiB on, the memory is in huge pages where the kernel has them: the block layer and the
// device then see a large request as one piece of memory, not one per 4 KiB.
class SlotBuffers {
 public:
  // Each slot has room for `slot_bytes` and begins on a page. Throws Error when there is no memory.
  SlotBuffers(size_t slots, uint64_t slot_bytes);
  ~SlotBuffers();
  SlotBuffers(const SlotBuffers&) = delete;
  SlotBuffers& operator=(const SlotBuffers&) = delete;

  std::span<std::byte> whole() const { return {data_, bytes_}; }
  std::byte* slot(size_t index) const { return data_ + index * stride_; }

  // Bytes from one slot to the next.
  static uint64_t stride(uint64_t slot_bytes);

 private:
  void* mapped_ = nullptr;  // start of the mapping; data_ is the first huge page in it if aligned
  size_t mapped_bytes_ = 0;
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
  uint64_t stride_ = 0;
};

}  // namespace cb
