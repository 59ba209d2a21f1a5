// Memory tests: patterns that are written, read back, inverted and read back again. Host and device
// use the same values. The tests are those of memtest86 and cuda_memtest, which DCGM's memtest has
// too.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/pattern.h"

namespace cb::kernels {

enum class March : int {
  address,      // each word holds its own index: finds wrong address lines
  walking_one,  // one bit set, walking by word and step: finds stuck and coupled bits
  solid,        // all zero, then all one: moving inversions
  checkered,    // 0101…, then 1010…: finds neighbours that disturb each other
  random,       // random words
  modulo_20,    // every twentieth word differs: finds what caches and buffers hide
  bit_fade,     // all zero, then all one, each left alone for a while: finds cells that do not hold
  block_move    // random words, moved in blocks within the memory and compared at their new places
};
inline constexpr int march_tests = 8;
// True for tests that are written, compared and inverted; block_move is moved and compared instead.
inline constexpr bool march_turns(March test) { return test != March::block_move; }
// The last move of block_move returns the first half of memory to its place, rotated by this many
// words.
inline constexpr std::uint64_t march_shift_words = 8;
inline constexpr std::uint64_t march_steps(March test) {
  return test == March::walking_one ? 64 : test == March::modulo_20 ? 20 : 1;
}

// A step of a test, and its successor. First comes one step of every test, then the next step of
// the tests that have more: a short march over a large memory has then looked for every kind of
// fault. After the last step the first comes again.
struct MarchStep {
  March test = March::address;
  std::uint64_t step = 0;
};
inline constexpr MarchStep march_next(MarchStep now) {
  int test = static_cast<int>(now.test);
  do {
    if (++test < march_tests) continue;
    test = 0;
    now.step = now.step + 1 < march_steps(March::walking_one) ? now.step + 1 : 0;
  } while (now.step >= march_steps(static_cast<March>(test)));
  return {static_cast<March>(test), now.step};
}

// Returns what word `index` must hold in step `step`; `inverted` is true in the second half of the
// step.
CB_HOST_DEVICE constexpr std::uint64_t march_word(March test, std::uint64_t step,
                                                  std::uint64_t index, bool inverted) {
  std::uint64_t value = 0;
  switch (test) {
    case March::address:
      value = index;
      break;
    case March::walking_one:
      value = std::uint64_t{1} << (index + step) % 64;
      break;
    case March::solid:
    case March::bit_fade:
      value = 0;
      break;
    case March::checkered:
      value = 0x5555555555555555U;
      break;
    case March::random:
      value = pattern_word(index, step + 1);
      break;
    case March::block_move:
      value = pattern_word(index, step + 101);
      break;
    case March::modulo_20:
      value = index % 20 == step ? 0xccccccccccccccccU : 0x3333333333333333U;
      break;
  }
  return inverted ? ~value : value;
}

struct MarchResult {
  std::uint64_t wrong;  // number of wrong words
  std::uint64_t first;  // index of the first wrong word; ~0 if there is none
  std::uint64_t bits;   // every bit that was wrong in any word
};

int launch_march_write(void* data, std::size_t words, March test, std::uint64_t step, void* stream);
// Compares every word and writes its inverse. With `inverted` it expects the inverse and writes the
// value. Adds to `*result`; before the first call the caller sets `first` to ~0 and the rest to 0.
int launch_march_turn(void* data, std::size_t words, March test, std::uint64_t step, bool inverted,
                      MarchResult* result, void* stream);
// Only compares: word i must be what was written as word (i − shift) modulo `words`. Adds to
// `*result` as launch_march_turn() does.
int launch_march_compare(const void* data, std::size_t words, March test, std::uint64_t step,
                         std::uint64_t shift, MarchResult* result, void* stream);

}  // namespace cb::kernels
