#include <algorithm>

#include "kernels/launch.h"
#include "kernels/march.h"

namespace cb::kernels {
namespace {

constexpr unsigned threads_per_block = 256;
constexpr std::size_t max_blocks = 8192;
using Word = std::uint64_t;
using Wide = unsigned long long;

__device__ Word first_word() { return Word{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ Word word_stride() { return Word{gridDim.x} * blockDim.x; }

__global__ void write_march(Word* data, Word words, March test, Word step) {
  for (Word i = first_word(); i < words; i += word_stride())
    data[i] = march_word(test, step, i, false);
}

// What one thread found; add_to() adds it to the result unless it is nothing.
struct Found {
  Wide wrong = 0, first = ~Wide{0}, bits = 0;

  __device__ void compare(Word found, Word wanted, Word index) {
    if (found == wanted) return;
    ++wrong;
    bits |= found ^ wanted;
    if (index < first) first = index;
  }
  __device__ void add_to(MarchResult* result) const {
    if (wrong == 0) return;
    atomicAdd(reinterpret_cast<Wide*>(&result->wrong), wrong);
    atomicMin(reinterpret_cast<Wide*>(&result->first), first);
    atomicOr(reinterpret_cast<Wide*>(&result->bits), bits);
  }
};

__global__ void turn_march(Word* data, Word words, March test, Word step, bool inverted,
                           MarchResult* result) {
  Found found;
  for (Word i = first_word(); i < words; i += word_stride()) {
    const Word wanted = march_word(test, step, i, inverted);
    found.compare(data[i], wanted, i);
    data[i] = ~wanted;
  }
  found.add_to(result);
}

__global__ void compare_march(const Word* data, Word words, March test, Word step, Word shift,
                              MarchResult* result) {
  Found found;
  for (Word i = first_word(); i < words; i += word_stride()) {
    const Word origin = i < shift ? i + words - shift : i - shift;
    found.compare(data[i], march_word(test, step, origin, false), i);
  }
  found.add_to(result);
}

unsigned blocks_for(std::size_t words) {
  const std::size_t blocks = (words + threads_per_block - 1) / threads_per_block;
  return static_cast<unsigned>(std::clamp<std::size_t>(blocks, 1, max_blocks));
}

}  // namespace

int launch_march_write(void* data, std::size_t words, March test, std::uint64_t step,
                       void* stream) {
  return launch<write_march>({blocks_for(words), threads_per_block}, stream,
                             static_cast<Word*>(data), words, test, step);
}

int launch_march_turn(void* data, std::size_t words, March test, std::uint64_t step, bool inverted,
                      MarchResult* result, void* stream) {
  return launch<turn_march>({blocks_for(words), threads_per_block}, stream,
                            static_cast<Word*>(data), words, test, step, inverted, result);
}

int launch_march_compare(const void* data, std::size_t words, March test, std::uint64_t step,
                         std::uint64_t shift, MarchResult* result, void* stream) {
  if (shift > words) return cudaErrorInvalidValue;
  return launch<compare_march>({blocks_for(words), threads_per_block}, stream,
                               static_cast<const Word*>(data), words, test, step, shift, result);
}

}  // namespace cb::kernels
