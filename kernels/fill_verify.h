// Launchers that fill device memory with a pattern and compare it later. They start work on the
// stream and return at once, with a cudaError_t (0 for success). They have no policy and do not
// wait.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cb::kernels {

inline constexpr std::uint64_t no_mismatch = ~std::uint64_t{0};

struct VerifyResult {
  std::uint64_t mismatches;      // number of bytes that differ from the pattern
  std::uint64_t first_mismatch;  // lowest offset of such a byte; no_mismatch if there is none
};

// Writes the first `bytes` bytes of pattern `seed` (kernels/pattern.h) to `device_memory`, which
// must be aligned to 8 bytes. `stream` is a cudaStream_t or CUstream, null for the default stream.
int launch_fill(void* device_memory, std::size_t bytes, std::uint64_t seed, void* stream);

// Compares `bytes` bytes of `device_memory` (aligned to 8 bytes) with pattern `seed`, beginning
// with pattern byte 0. Overwrites `*result`, which must be in memory that the device can write.
int launch_verify(const void* device_memory, std::size_t bytes, std::uint64_t seed,
                  VerifyResult* result, void* stream);

}  // namespace cb::kernels
