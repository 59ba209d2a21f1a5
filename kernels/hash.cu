// Hashes, compares and plants errors by grid-stride loops over 64-bit words; the hash needs one
// atomic a warp.
#include <algorithm>

#include "kernels/hash.h"
#include "kernels/launch.h"

namespace cb::kernels {
namespace {

constexpr unsigned threads_per_block = 256;
constexpr std::size_t max_blocks = 8192;
using Word = std::uint64_t;
using Wide = unsigned long long;

__device__ Word first_word() { return Word{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ Word word_stride() { return Word{gridDim.x} * blockDim.x; }

__device__ Wide warp_sum(Wide value) {
  for (int lanes = 16; lanes > 0; lanes /= 2) value += __shfl_down_sync(~0U, value, lanes);
  return value;
}

// Counts the elements of the word whose exponent is all ones.
__device__ Wide not_finite(Word word, int element_bits, int exponent_bits) {
  Wide count = 0;
  const Word ones = (Word{1} << exponent_bits) - 1;
  for (int at = 0; at < 64; at += element_bits) {
    const int shift = at + element_bits - 1 - exponent_bits;
    if ((word >> shift & ones) == ones) ++count;
  }
  return count;
}

__global__ void hash_words(const Word* data, Word words, int element_bits, int exponent_bits,
                           HashResult* result) {
  Wide sum = 0, bad = 0;
  for (Word i = first_word(); i < words; i += word_stride()) {
    const Word word = data[i];
    sum += hash_word(word, i);
    if (exponent_bits != 0) bad += not_finite(word, element_bits, exponent_bits);
  }
  sum = warp_sum(sum);
  bad = warp_sum(bad);
  if (threadIdx.x % 32 != 0) return;
  atomicAdd(reinterpret_cast<Wide*>(&result->hash), sum);
  if (bad != 0) atomicAdd(reinterpret_cast<Wide*>(&result->not_finite), bad);
}

__global__ void compare_words(const Word* a, const Word* b, Word words, CompareResult* result) {
  Wide count = 0, first = ~Wide{0};
  for (Word i = first_word(); i < words; i += word_stride()) {
    if (a[i] == b[i]) continue;
    ++count;
    if (i < first) first = i;
  }
  if (count == 0) return;
  atomicAdd(reinterpret_cast<Wide*>(&result->words), count);
  atomicMin(reinterpret_cast<Wide*>(&result->first), first);
}

__global__ void damage(Word* data, Word index, int bit, bool all_ones) {
  data[index] = all_ones ? ~Word{0} : data[index] ^ (Word{1} << bit);
}

unsigned blocks_for(std::size_t words) {
  const std::size_t blocks = (words + threads_per_block - 1) / threads_per_block;
  return static_cast<unsigned>(std::clamp<std::size_t>(blocks, 1, max_blocks));
}

}  // namespace

int launch_hash(const void* data, std::size_t bytes, int element_bits, int exponent_bits,
                HashResult* result, void* stream) {
  const auto queue = static_cast<cudaStream_t>(stream);
  if (bytes % 8 != 0) return cudaErrorInvalidValue;
  if (auto e = cudaMemsetAsync(result, 0, sizeof *result, queue)) return e;
  return launch<hash_words>({blocks_for(bytes / 8), threads_per_block}, stream,
                            static_cast<const Word*>(data), bytes / 8, element_bits, exponent_bits,
                            result);
}

int launch_compare(const void* a, const void* b, std::size_t bytes, CompareResult* result,
                   void* stream) {
  const auto queue = static_cast<cudaStream_t>(stream);
  if (bytes % 8 != 0) return cudaErrorInvalidValue;
  if (auto e = cudaMemsetAsync(result, 0, sizeof *result, queue)) return e;
  if (auto e = cudaMemsetAsync(&result->first, 0xff, sizeof result->first, queue)) return e;
  return launch<compare_words>({blocks_for(bytes / 8), threads_per_block}, stream,
                               static_cast<const Word*>(a), static_cast<const Word*>(b), bytes / 8,
                               result);
}

int find_kernels() {
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(damage));
}

int launch_damage(void* data, std::uint64_t index, int bit, bool all_ones, void* stream) {
  return launch<damage>({1, 1}, stream, static_cast<Word*>(data), index, bit, all_ones);
}

}  // namespace cb::kernels
