#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

// The content of a verified stream: its byte i is byte i of the pattern of its seed
// (kernels/pattern.h), so that lost, repeated, swapped and changed bytes are all detected.
namespace cb::tcp {

// Fills `out` with the bytes of the stream that begin at `offset`.
void fill_stream(std::span<std::byte> out, uint64_t offset, uint64_t seed);

// Position in the stream of the first wrong byte of `in`, which begins at `offset`; nothing if all
// are right.
std::optional<uint64_t> first_wrong(std::span<const std::byte> in, uint64_t offset, uint64_t seed);

}  // namespace cb::tcp
