#include "kernels/pattern.h"

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>

using cb::kernels::pattern_byte;
using cb::kernels::pattern_word;

TEST_CASE("the pattern is SplitMix64: first outputs for seed 1234567 as published") {
  CHECK(pattern_word(0, 1234567) == 6457827717110365317U);
  CHECK(pattern_word(1, 1234567) == 3203168211198807973U);
  CHECK(pattern_word(2, 1234567) == 9817491932198370423U);
}

TEST_CASE("bytes are the words in little-endian order") {
  for (std::uint64_t offset = 0; offset < 64; ++offset) {
    const auto word = pattern_word(offset / 8, 42);
    CHECK(pattern_byte(offset, 42) == static_cast<std::uint8_t>(word >> (8 * (offset % 8))));
  }
  CHECK(pattern_byte(0, 1234567) == 0x85);  // 6457827717110365317 = 0x599ed017fb08fc85
  CHECK(pattern_byte(7, 1234567) == 0x59);
}

TEST_CASE("data shifted by a word, or of another seed, differs in every word") {
  for (std::uint64_t word = 0; word < 4096; ++word) {
    CHECK(pattern_word(word, 7) != pattern_word(word + 1, 7));
    CHECK(pattern_word(word, 7) != pattern_word(word, 8));
  }
}

TEST_CASE("neighbouring words differ in about half of their bits") {
  int differing_bits = 0;
  for (std::uint64_t word = 0; word < 1000; ++word)
    differing_bits += std::popcount(pattern_word(word, 3) ^ pattern_word(word + 1, 3));
  CHECK(differing_bits > 31000);  // expected 32000, standard deviation about 126
  CHECK(differing_bits < 33000);
}
