// Kernels that move memory as fast as a device can: a copy by the SMs, STREAM's triad, a read, and
// a chase of dependent loads. They start work on the stream and return at once, with a cudaError_t.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/pattern.h"

namespace cb::kernels {

inline constexpr double triad_scalar = 3;

// Returns element `index` of a triad array, in [0, 1). The array c has the seed of b plus 1.
CB_HOST_DEVICE inline double triad_element(std::uint64_t index, std::uint64_t seed) {
  return static_cast<double>(pattern_word(index, seed) >> 11) * 0x1p-53;
}

// Returns what a[index] must be, to the last bit: the kernel also uses one fused multiply-add.
CB_HOST_DEVICE inline double triad_result(std::uint64_t index, std::uint64_t seed) {
  return fma(triad_scalar, triad_element(index, seed + 1), triad_element(index, seed));
}

// How a kernel goes over memory. The fastest way differs between GPUs, so a caller times them.
//   resident  as many blocks as fit at once stride over all of it, four words in flight
//   swept     one thread for every word; blocks come and go
//   streamed  like resident, with a hint that the written data are not read again
enum class Sweep : int { resident, swept, streamed };
inline constexpr int sweeps = 3;

// Copies `bytes` bytes (a multiple of 16) with the SMs of the current device. Either side may be on
// a peer.
int launch_copy(void* to, const void* from, std::size_t bytes, void* stream);

// Computes a = b + 3·c over `elements` doubles (an even number).
int launch_triad(double* a, const double* b, const double* c, std::size_t elements, Sweep sweep,
                 void* stream);
int launch_triad_fill(double* b, double* c, std::size_t elements, std::uint64_t seed, void* stream);
struct TriadResult {
  std::uint64_t wrong;
  std::uint64_t first;  // index of the first wrong element; ~0 if there is none
};
int launch_triad_check(const double* a, std::size_t elements, std::uint64_t seed,
                       TriadResult* result, void* stream);

// Reads `bytes` bytes (a multiple of 16) and adds the sum of their 64-bit words, modulo 2^64, to
// `*sum`, which the caller has cleared.
int launch_read(const void* from, std::size_t bytes, std::uint64_t* sum, void* stream);

// One thread follows `steps` links, beginning at line `*at`: each line of 128 bytes begins with the
// index of the next one. Stores the last line in `*at`, so that a second call continues from there
// and does not meet lines that the caches still hold.
inline constexpr std::size_t chase_line_bytes = 128;
int launch_chase(const void* lines, std::uint64_t steps, std::uint64_t* at, void* stream);

}  // namespace cb::kernels
