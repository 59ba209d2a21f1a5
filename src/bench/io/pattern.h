#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cb::io {

// What is wrong with data that was read: where in the file, and how it differs.
struct Mismatch {
  uint64_t offset = 0;
  std::string what;
};

// The content of a file as a function of the position: each sector of 512 bytes begins with its own
// offset and a key of file and generation, the rest is random bytes that do not repeat within 1 MiB
// (so that no device gains by compressing). Data of another place, of an earlier write, zeros and
// flipped bits can be told apart. Offsets and lengths are multiples of 8.
class Pattern {
 public:
  static constexpr uint64_t kSector = 512;
  static constexpr uint64_t kPeriod = 1 << 20;
  static constexpr unsigned kPrepared = 0;  // generation of a file laid out before the measurement
  static constexpr unsigned kWritten = 1;   // generation of what the measurement writes

  // `seed` makes the random bytes, `file_key` is different for every file and run.
  Pattern(uint64_t seed, uint64_t file_key);

  void fill(std::span<std::byte> block, uint64_t offset, unsigned generation) const;
  // As fill() for a block that holds this pattern's random bytes for `offset` modulo kPeriod
  // already.
  void stamp(std::span<std::byte> block, uint64_t offset, unsigned generation) const;

  // The first difference from every one of the generations that may stand there; nothing if right.
  std::optional<Mismatch> check(std::span<const std::byte> block, uint64_t offset,
                                std::initializer_list<unsigned> generations) const;

 private:
  uint64_t key(unsigned generation) const;
  uint64_t word(uint64_t position, unsigned generation) const;
  bool sector_is(std::span<const std::byte> bytes, uint64_t offset, unsigned generation) const;
  Mismatch explain(std::span<const std::byte> bytes, uint64_t offset, unsigned generation) const;

  uint64_t file_key_;
  std::vector<std::byte> random_;  // kPeriod bytes
};

}  // namespace cb::io
