#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "bench/collectives/data.h"

namespace cb {

// A range of a buffer, in bytes.
struct Extent {
  uint64_t at = 0;
  uint64_t bytes = 0;
};

// Memory of the host or of a GPU between two guard zones that must stay as they were. It makes and
// checks the data of a collective where they lie. Every call has finished its work when it returns.
class CollectiveBuffer {
 public:
  static constexpr uint64_t kGuardBytes = 4096;
  static constexpr uint8_t kGuardValue = 0xd7;

  virtual ~CollectiveBuffer() = default;
  virtual std::byte* data() = 0;
  virtual uint64_t bytes() const = 0;
  virtual bool guards_intact() = 0;
  virtual void set(Extent extent, uint8_t value) = 0;
  // These work like the functions of bench/collectives/data.h.
  virtual void fill_pattern(Extent extent, uint64_t rank, uint64_t iteration,
                            uint64_t first_byte) = 0;
  virtual void fill_terms(Extent extent, const Terms& terms, uint64_t rank) = 0;
  virtual std::optional<Mismatch> verify_pattern(Extent extent, uint64_t rank, uint64_t iteration,
                                                 uint64_t first_byte,
                                                 uint64_t bytes_per_element) = 0;
  virtual std::optional<Mismatch> verify_reduced(Extent extent, const Terms& terms,
                                                 uint64_t first_index) = 0;
  // Flips a bit of the byte at `at`. The byte may lie in a guard zone: −1 is the byte before the
  // data.
  virtual void flip(int64_t at) = 0;
};

// Page-aligned memory of the host; every page is touched. Throws std::bad_alloc.
std::unique_ptr<CollectiveBuffer> host_buffer(uint64_t bytes);

}  // namespace cb
