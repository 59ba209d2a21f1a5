#include "bench/network/tcp/payload.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/pattern.h"

namespace cb::tcp {
namespace {

static_assert(std::endian::native == std::endian::little, "the pattern's words are little-endian");

// Calls piece(position in the span, number of bytes, the bytes that belong there) for each whole or
// partial word of the pattern until it returns true.
template <typename Piece>
void each_word(size_t size, uint64_t offset, uint64_t seed, const Piece& piece) {
  for (size_t at = 0; at < size;) {
    const uint64_t position = offset + at;
    const size_t skip = position % 8;
    const size_t width = std::min(size - at, 8 - skip);
    const uint64_t word = kernels::pattern_word(position / 8, seed);
    std::byte bytes[8];
    std::memcpy(bytes, &word, sizeof word);
    if (piece(at, width, bytes + skip)) return;
    at += width;
  }
}

}  // namespace

void fill_stream(std::span<std::byte> out, uint64_t offset, uint64_t seed) {
  each_word(out.size(), offset, seed, [&](size_t at, size_t width, const std::byte* want) {
    std::memcpy(out.data() + at, want, width);
    return false;
  });
}

std::optional<uint64_t> first_wrong(std::span<const std::byte> in, uint64_t offset, uint64_t seed) {
  std::optional<uint64_t> found;
  each_word(in.size(), offset, seed, [&](size_t at, size_t width, const std::byte* want) {
    if (std::memcmp(in.data() + at, want, width) == 0) return false;
    const auto* differs = std::mismatch(want, want + width, in.data() + at).first;
    found = offset + at + static_cast<uint64_t>(differs - want);
    return true;
  });
  return found;
}

}  // namespace cb::tcp
