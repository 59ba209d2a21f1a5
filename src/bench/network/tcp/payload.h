#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

// What a verified stream holds: byte i of it is byte i of the pattern of its seed
// (kernels/pattern.h), so that lost, repeated, swapped and changed bytes are all seen.
namespace cb::tcp {

// Fills `out` with the bytes of the stream from `offset` on.
void fill_stream(std::span<std::byte> out, uint64_t offset, uint64_t seed);

// Position in the stream of the first byte of `in` (which begins at `offset`) that is wrong.
std::optional<uint64_t> first_wrong(std::span<const std::byte> in, uint64_t offset, uint64_t seed);

}  // namespace cb::tcp
