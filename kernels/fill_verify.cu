// Pattern fill and verify by grid-stride loops over 64-bit words. The first thread handles the
// last, partial word by bytes. Both are memory-bound. Mismatches are rare, so each thread that has
// any does one atomic per counter, and no time is spent on reducing zeros.
#include <algorithm>

#include "kernels/fill_verify.h"
#include "kernels/launch.h"
#include "kernels/pattern.h"

namespace cb::kernels {
namespace {

constexpr unsigned threads_per_block = 256;
// Enough blocks to fill the largest device several times; the loop handles the rest.
constexpr std::size_t max_blocks = 4096;

using Word = std::uint64_t;

__device__ Word first_word() { return Word{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ Word word_stride() { return Word{gridDim.x} * blockDim.x; }

__global__ void fill(unsigned char* memory, std::size_t bytes, Word seed) {
  const Word words = bytes / 8;
  for (Word i = first_word(); i < words; i += word_stride())
    reinterpret_cast<Word*>(memory)[i] = pattern_word(i, seed);
  if (first_word() == 0)
    for (Word i = words * 8; i < bytes; ++i) memory[i] = pattern_byte(i, seed);
}

struct Mismatches {
  unsigned long long count = 0;
  unsigned long long first = no_mismatch;

  __device__ void compare(const unsigned char* memory, Word offset, Word seed) {
    if (memory[offset] == pattern_byte(offset, seed)) return;
    ++count;
    if (offset < first) first = offset;
  }
};

__global__ void verify(const unsigned char* memory, std::size_t bytes, Word seed,
                       VerifyResult* result) {
  static_assert(sizeof(unsigned long long) == sizeof(Word), "atomics work on 64-bit words");
  Mismatches found;
  const Word words = bytes / 8;
  for (Word i = first_word(); i < words; i += word_stride()) {
    if (reinterpret_cast<const Word*>(memory)[i] == pattern_word(i, seed)) continue;
    for (Word byte = i * 8; byte < i * 8 + 8; ++byte) found.compare(memory, byte, seed);
  }
  if (first_word() == 0)
    for (Word i = words * 8; i < bytes; ++i) found.compare(memory, i, seed);
  if (found.count == 0) return;
  atomicAdd(reinterpret_cast<unsigned long long*>(&result->mismatches), found.count);
  atomicMin(reinterpret_cast<unsigned long long*>(&result->first_mismatch), found.first);
}

unsigned blocks_for(std::size_t bytes) {
  const std::size_t words = bytes / 8 + 1;  // at least one thread, for the partial word
  const std::size_t blocks = (words + threads_per_block - 1) / threads_per_block;
  return static_cast<unsigned>(std::min(blocks, max_blocks));
}

bool aligned(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory) % 8 == 0; }

}  // namespace

int launch_fill(void* device_memory, std::size_t bytes, std::uint64_t seed, void* stream) {
  if (!aligned(device_memory)) return cudaErrorMisalignedAddress;
  return launch<fill>({blocks_for(bytes), threads_per_block}, stream,
                      static_cast<unsigned char*>(device_memory), bytes, seed);
}

int launch_verify(const void* device_memory, std::size_t bytes, std::uint64_t seed,
                  VerifyResult* result, void* stream) {
  if (!aligned(device_memory)) return cudaErrorMisalignedAddress;
  const auto queue = static_cast<cudaStream_t>(stream);
  // All bits set is no_mismatch.
  if (auto e = cudaMemsetAsync(&result->mismatches, 0, sizeof(std::uint64_t), queue)) return e;
  if (auto e = cudaMemsetAsync(&result->first_mismatch, 0xff, sizeof(std::uint64_t), queue))
    return e;
  return launch<verify>({blocks_for(bytes), threads_per_block}, stream,
                        static_cast<const unsigned char*>(device_memory), bytes, seed, result);
}

}  // namespace cb::kernels
