#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/messages/said.h"

namespace cb::io {

enum class Damage {
  missing,    // all zeros: never written
  stale,      // whole and of this offset, but from an earlier write
  misplaced,  // whole, but of another offset, file, rank or run
  torn,       // right in part; the rest is old, zero or anything
  bit_flip,   // a few bits differ
  corrupt     // anything else
};
const char* damage_name(Damage damage);

// What is wrong with data that was read: where in the file, and how it differs.
struct Mismatch {
  uint64_t offset = 0;
  Damage damage = Damage::corrupt;
  Said what;
};

// Names who wrote a file.
struct Origin {
  uint64_t run = 0;  // different for every run
  uint16_t rank = 0;
  uint16_t file = 0;
  bool operator==(const Origin&) const = default;
};

// The content of a file as a function of the position. Each sector of 512 bytes begins with a stamp
// of four words: the offset; the run; rank, file, generation and period; a checksum of these and of
// the rest. The rest is random bytes that repeat with the period (1 MiB, or the block size where
// that is larger, so that no device gains by compressing). Offsets and lengths are multiples of 8.
class Pattern {
 public:
  static constexpr uint64_t kSector = 512;
  static constexpr uint64_t kPeriod = 1 << 20;
  static constexpr unsigned kPrepared = 0;  // generation of a file laid out before the measurement
  static constexpr unsigned kWritten = 1;   // generation of what the measurement writes

  // `period`: a multiple of kSector, at most 31.5 MiB.
  explicit Pattern(Origin origin, uint64_t period = kPeriod);
  // The period for this block size. Blocks of 128 KiB or more, if they are whole sectors of at
  // most 31.5 MiB, get a period of one block, so that all have the same random bytes: they are
  // larger than what devices compress at once.
  static uint64_t period_for(uint64_t block_bytes);

  // The pattern that a file was written with, from its first sector. Nothing if the sector is not
  // ours, or damaged.
  static std::optional<Pattern> of_file(std::span<const std::byte> first_sector);

  const Origin& origin() const { return origin_; }
  uint64_t period() const { return random_.size(); }

  void fill(std::span<std::byte> block, uint64_t offset, unsigned generation) const;
  // Like fill(), for a block that already holds this pattern's random bytes for `offset` modulo
  // period().
  void stamp(std::span<std::byte> block, uint64_t offset, unsigned generation) const;

  // The first place that matches none of the allowed generations; nothing if all is right.
  std::optional<Mismatch> check(std::span<const std::byte> block, uint64_t offset,
                                std::initializer_list<unsigned> generations) const;

 private:
  uint64_t ids(unsigned generation) const;
  uint64_t word(uint64_t position, unsigned generation) const;
  void stamp_whole_sectors(std::span<std::byte> block, uint64_t offset, unsigned generation) const;
  bool sector_is(std::span<const std::byte> bytes, uint64_t offset, unsigned generation) const;
  int wrong_bits(std::span<const std::byte> sector, uint64_t offset, unsigned generation) const;
  Mismatch explain(std::span<const std::byte> block, uint64_t offset, uint64_t at,
                   std::initializer_list<unsigned> generations) const;
  Mismatch explain_whole(std::span<const std::byte> block, uint64_t offset, uint64_t at,
                         std::initializer_list<unsigned> generations) const;
  Mismatch explain_damaged(std::span<const std::byte> sector, uint64_t offset,
                           unsigned generation) const;

  Origin origin_;
  std::vector<std::byte> random_;  // one period
  std::vector<uint64_t> hashes_;   // hash of what follows the stamp, per sector of the period
  std::vector<uint64_t> written_;  // checksum without its offset for kWritten, per sector
};

}  // namespace cb::io
