// Data of collectives by grid-stride loops. In each step a thread handles one element or one word.
// Mismatches are rare: a thread that found some does one atomic per counter.
#include <algorithm>

#include "kernels/collective_data.h"
#include "kernels/launch.h"

namespace cb::kernels {
namespace {

constexpr unsigned threads_per_block = 256;
constexpr std::uint64_t max_blocks = 4096;

using Word = std::uint64_t;

__device__ Word first_item() { return Word{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ Word item_stride() { return Word{gridDim.x} * blockDim.x; }

__device__ void report(VerifyResult* result, Word count, Word first) {
  if (count == 0) return;
  static_assert(sizeof(unsigned long long) == sizeof(Word), "atomics work on 64-bit words");
  atomicAdd(reinterpret_cast<unsigned long long*>(&result->mismatches),
            static_cast<unsigned long long>(count));
  atomicMin(reinterpret_cast<unsigned long long*>(&result->first_mismatch),
            static_cast<unsigned long long>(first));
}

template <typename T>
__device__ bool same(const T& a, const T& b) {
  const auto* x = reinterpret_cast<const unsigned char*>(&a);
  const auto* y = reinterpret_cast<const unsigned char*>(&b);
  for (unsigned i = 0; i < sizeof(T); ++i) {
    if (x[i] != y[i]) return false;
  }
  return true;
}

template <typename T>
__global__ void fill_terms(Terms terms, Word rank, T* out, Word count) {
  const TermModel<T> model(terms);
  for (Word i = first_item(); i < count; i += item_stride()) out[i] = model.term(rank, i);
}

template <typename T>
__global__ void verify_terms(Terms terms, Word first_index, const T* in, Word count,
                             VerifyResult* result) {
  const TermModel<T> model(terms);
  Word wrong = 0, first = no_mismatch;
  for (Word i = first_item(); i < count; i += item_stride()) {
    if (same(in[i], model.reduced(first_index + i))) continue;
    if (wrong++ == 0) first = i;
  }
  report(result, wrong, first);
}

__global__ void fill_words(unsigned char* out, std::size_t bytes, Word seed, Word first_word) {
  for (Word i = first_item(); i < bytes / 8; i += item_stride())
    reinterpret_cast<Word*>(out)[i] = pattern_word(first_word + i, seed);
  if (first_item() != 0) return;
  for (Word i = bytes / 8 * 8; i < bytes; ++i) out[i] = pattern_byte(first_word * 8 + i, seed);
}

__global__ void verify_words(const unsigned char* in, std::size_t bytes, Word seed, Word first_word,
                             int element_bytes, VerifyResult* result) {
  Word wrong = 0, first = no_mismatch;
  const auto width = static_cast<Word>(element_bytes);
  const auto compare = [&](Word from, Word to) {
    for (Word e = from; e < to; e += width) {
      bool equal = true;
      for (Word b = e; b < e + width && b < to; ++b)
        equal = equal && in[b] == pattern_byte(first_word * 8 + b, seed);
      if (equal) continue;
      if (wrong++ == 0) first = e / width;
    }
  };
  for (Word i = first_item(); i < bytes / 8; i += item_stride()) {
    if (reinterpret_cast<const Word*>(in)[i] != pattern_word(first_word + i, seed))
      compare(i * 8, i * 8 + 8);
  }
  if (first_item() == 0) compare(bytes / 8 * 8, bytes);
  report(result, wrong, first);
}

__global__ void verify_byte(const unsigned char* in, std::size_t bytes, std::uint8_t value,
                            VerifyResult* result) {
  Word wrong = 0, first = no_mismatch;
  for (Word i = first_item(); i < bytes; i += item_stride()) {
    if (in[i] == value) continue;
    if (wrong++ == 0) first = i;
  }
  report(result, wrong, first);
}

unsigned blocks_for(Word items) {
  const Word blocks = (items + threads_per_block) / threads_per_block;  // at least one
  return static_cast<unsigned>(std::min(blocks, max_blocks));
}

bool aligned(const void* memory, std::size_t to) {
  return reinterpret_cast<std::uintptr_t>(memory) % to == 0;
}

int clear(VerifyResult* result, cudaStream_t queue) {
  // All bits set is no_mismatch.
  if (auto e = cudaMemsetAsync(&result->mismatches, 0, sizeof(Word), queue)) return e;
  return cudaMemsetAsync(&result->first_mismatch, 0xff, sizeof(Word), queue);
}

}  // namespace

int launch_fill_terms(const Terms& terms, Word rank, void* out, Word count, void* stream) {
  return dispatch(terms.type, [&](auto zero) -> int {
    using T = decltype(zero);
    if (!aligned(out, sizeof(T))) return cudaErrorMisalignedAddress;
    return launch<fill_terms<T>>({blocks_for(count), threads_per_block}, stream, terms, rank,
                                 static_cast<T*>(out), count);
  });
}

int launch_verify_terms(const Terms& terms, Word first_index, const void* in, Word count,
                        VerifyResult* result, void* stream) {
  const auto queue = static_cast<cudaStream_t>(stream);
  if (const int e = clear(result, queue)) return e;
  return dispatch(terms.type, [&](auto zero) -> int {
    using T = decltype(zero);
    if (!aligned(in, sizeof(T))) return cudaErrorMisalignedAddress;
    return launch<verify_terms<T>>({blocks_for(count), threads_per_block}, stream, terms,
                                   first_index, static_cast<const T*>(in), count, result);
  });
}

int launch_fill_words(void* out, std::size_t bytes, Word seed, Word first_word, void* stream) {
  if (!aligned(out, 8)) return cudaErrorMisalignedAddress;
  return launch<fill_words>({blocks_for(bytes / 8), threads_per_block}, stream,
                            static_cast<unsigned char*>(out), bytes, seed, first_word);
}

int launch_verify_words(const void* in, std::size_t bytes, Word seed, Word first_word,
                        int element_bytes, VerifyResult* result, void* stream) {
  const auto queue = static_cast<cudaStream_t>(stream);
  if (!aligned(in, 8)) return cudaErrorMisalignedAddress;
  if (const int e = clear(result, queue)) return e;
  return launch<verify_words>({blocks_for(bytes / 8), threads_per_block}, stream,
                              static_cast<const unsigned char*>(in), bytes, seed, first_word,
                              element_bytes, result);
}

int launch_verify_byte(const void* in, std::size_t bytes, std::uint8_t value, VerifyResult* result,
                       void* stream) {
  const auto queue = static_cast<cudaStream_t>(stream);
  if (const int e = clear(result, queue)) return e;
  return launch<verify_byte>({blocks_for(bytes), threads_per_block}, stream,
                             static_cast<const unsigned char*>(in), bytes, value, result);
}

}  // namespace cb::kernels
