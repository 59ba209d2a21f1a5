#include "bench/storage/io/pattern.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace cb::io;

namespace {

std::vector<std::byte> filled(const Pattern& pattern, uint64_t offset, size_t bytes,
                              unsigned generation = Pattern::kPrepared) {
  std::vector<std::byte> out(bytes);
  pattern.fill(out, offset, generation);
  return out;
}

}  // namespace

TEST_CASE("what was filled is right, in any cut, also across sectors and the period") {
  const Pattern pattern({1, 99});
  for (const uint64_t offset : {uint64_t{0}, uint64_t{4096}, uint64_t{47008}, uint64_t{8},
                                Pattern::kPeriod - 512, Pattern::kPeriod * 3 - 8}) {
    CAPTURE(offset);
    CHECK_FALSE(pattern.check(filled(pattern, offset, 47008), offset, {Pattern::kPrepared}));
  }
  // One large fill equals many small ones.
  const auto whole = filled(pattern, 0, 8192);
  for (uint64_t at = 0; at < 8192; at += 8) {
    const auto part = filled(pattern, at, 8);
    REQUIRE(std::equal(part.begin(), part.end(), whole.begin() + static_cast<ptrdiff_t>(at)));
  }
}

TEST_CASE("whole sectors are stamped as word by word, over the end of the period too") {
  for (const uint64_t period : {Pattern::kPeriod, uint64_t{384} << 10}) {
    const Pattern pattern({7, 3, 2}, period);
    const uint64_t offset = period * 5 - 2048;
    const auto whole = filled(pattern, offset, 8192, Pattern::kWritten);
    std::vector<std::byte> pieces(8192);  // 8 bytes at a time: never a whole sector
    for (uint64_t at = 0; at < 8192; at += 8)
      pattern.fill(std::span(pieces).subspan(at, 8), offset + at, Pattern::kWritten);
    CHECK(whole == pieces);
  }
}

TEST_CASE("every single flipped bit of a block is found, with its offset") {
  const Pattern pattern({1, 99});
  auto block = filled(pattern, 4096, 1024);
  for (size_t at = 0; at < block.size(); ++at) {
    block[at] ^= std::byte{0x10};
    const auto wrong = pattern.check(block, 4096, {Pattern::kPrepared});
    REQUIRE(wrong);
    REQUIRE(wrong->offset / 512 == (4096 + at) / 512);
    REQUIRE(wrong->damage == Damage::bit_flip);
    REQUIRE(wrong->offset == 4096 + at / 8 * 8);
    block[at] ^= std::byte{0x10};
  }
  CHECK_FALSE(pattern.check(block, 4096, {Pattern::kPrepared}));
}

TEST_CASE("of the generations that a block may hold, the nearest tells what is wrong") {
  const Pattern pattern({1, 99});
  for (const unsigned generation : {Pattern::kPrepared, Pattern::kWritten}) {
    auto block = filled(pattern, 4096, 1024, generation);
    for (size_t at = 0; at < block.size(); ++at) {
      block[at] ^= std::byte{0x10};
      const auto wrong = pattern.check(block, 4096, {Pattern::kPrepared, Pattern::kWritten});
      REQUIRE(wrong);
      REQUIRE(wrong->damage == Damage::bit_flip);
      REQUIRE(wrong->offset == 4096 + at / 8 * 8);
      REQUIRE(wrong->what.text().starts_with("(bit flip) 1 bit differs"));
      block[at] ^= std::byte{0x10};
    }
  }
}

TEST_CASE("a block with sectors of another write is torn, whichever generation the others are") {
  const Pattern pattern({1, 99});
  for (const unsigned generation : {Pattern::kPrepared, Pattern::kWritten}) {
    auto block = filled(pattern, 0, 4096, generation);
    pattern.fill(std::span(block).first(1024), 0, 7);
    const auto wrong = pattern.check(block, 0, {Pattern::kPrepared, Pattern::kWritten});
    REQUIRE(wrong);
    CHECK(wrong->damage == Damage::torn);
    CHECK(wrong->offset == 0);
  }
}

TEST_CASE("misplaced, stale and missing data are told apart") {
  const Pattern pattern({1, 99});
  const auto other_place = filled(pattern, 8192, 4096);
  auto wrong = pattern.check(other_place, 4096, {Pattern::kPrepared});
  REQUIRE(wrong);
  CHECK(wrong->offset == 4096);
  CHECK(wrong->damage == Damage::misplaced);
  CHECK(wrong->what == "(misplaced) holds the data of offset 8192");

  const auto old = filled(pattern, 4096, 4096, Pattern::kPrepared);
  wrong = pattern.check(old, 4096, {Pattern::kWritten});
  REQUIRE(wrong);
  CHECK(wrong->damage == Damage::stale);
  CHECK(wrong->what == "(stale) holds the data of an earlier write");
  CHECK_FALSE(pattern.check(old, 4096, {Pattern::kPrepared, Pattern::kWritten}));

  const auto other_file = filled(Pattern({1, 100}), 4096, 4096);
  wrong = pattern.check(other_file, 4096, {Pattern::kPrepared});
  REQUIRE(wrong);
  CHECK(wrong->what == "(misplaced) holds the data of rank 100, file 0, offset 4096");
  wrong = pattern.check(filled(Pattern({2, 99}), 4096, 4096), 4096, {Pattern::kPrepared});
  REQUIRE(wrong);
  CHECK(wrong->what == "(misplaced) holds the data of another run, offset 4096");

  wrong = pattern.check(std::vector<std::byte>(4096), 4096, {Pattern::kPrepared});
  REQUIRE(wrong);
  CHECK(wrong->damage == Damage::missing);
}

TEST_CASE("a torn block is found at the sector where the old data begins") {
  const Pattern pattern({1, 99});
  auto block = filled(pattern, 0, 4096, Pattern::kWritten);
  const auto old = filled(pattern, 0, 4096, Pattern::kPrepared);
  std::copy(old.begin() + 1536, old.end(), block.begin() + 1536);
  const auto wrong = pattern.check(block, 0, {Pattern::kWritten});
  REQUIRE(wrong);
  CHECK(wrong->offset == 1536);
  CHECK(wrong->damage == Damage::torn);

  // Within a sector: the first half arrived, the rest is something else.
  block = filled(pattern, 0, 512, Pattern::kWritten);
  std::fill(block.begin() + 256, block.end(), std::byte{0x5a});
  const auto half = pattern.check(block, 0, {Pattern::kWritten});
  REQUIRE(half);
  CHECK(half->offset == 256);
  CHECK(half->damage == Damage::torn);
  std::fill(block.begin(), block.end(), std::byte{0x5a});
  CHECK(pattern.check(block, 0, {Pattern::kWritten})->damage == Damage::corrupt);
}

TEST_CASE("a file's pattern is known from its first sector, and from nothing else") {
  for (const uint64_t period : {Pattern::kPeriod, Pattern::period_for(384 << 10)}) {
    const Pattern pattern({0x1234567890, 7, 2}, period);
    auto first = filled(pattern, 0, 512, Pattern::kWritten);
    const auto found = Pattern::of_file(first);
    REQUIRE(found);
    CHECK(found->origin() == pattern.origin());
    CHECK(found->period() == period);
    CHECK_FALSE(found->check(filled(pattern, 1 << 20, 8192), 1 << 20, {Pattern::kPrepared}));
    first[300] ^= std::byte{1};
    CHECK_FALSE(Pattern::of_file(first));
    CHECK_FALSE(Pattern::of_file(filled(pattern, 512, 512)));
  }
  CHECK_FALSE(Pattern::of_file(std::vector<std::byte>(512)));
}

TEST_CASE("large blocks all have the same random bytes, small ones do not") {
  CHECK(Pattern::period_for(4096) == Pattern::kPeriod);
  CHECK(Pattern::period_for(128 << 10) == 128 << 10);
  CHECK(Pattern::period_for(16 << 20) == 16 << 20);
  CHECK(Pattern::period_for(1 << 30) == Pattern::kPeriod);
  CHECK(Pattern::period_for((128 << 10) + 8) == Pattern::kPeriod);
}

TEST_CASE("stamping again is the same as filling again") {
  const Pattern pattern({7, 3});
  auto block = filled(pattern, 4096, 4096, Pattern::kPrepared);
  pattern.stamp(block, 4096 + Pattern::kPeriod, Pattern::kWritten);
  CHECK(block == filled(pattern, 4096 + Pattern::kPeriod, 4096, Pattern::kWritten));
}
