#include "bench/storage/io/pattern.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "bench/storage/io/offsets.h"

namespace cb::io {
namespace {

constexpr uint64_t kWord = 8;
constexpr uint64_t kStampBytes = 4 * kWord;
constexpr uint64_t kLargeBlock = 128 << 10;
constexpr uint64_t kMaxPeriod = uint64_t{63} * 512 * 1024;  // the stamp has 16 bits for its sectors
constexpr int kFewBits = 32;

uint64_t load(std::span<const std::byte> bytes, uint64_t at) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, kWord);
  return value;
}

bool all_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

uint64_t sector_of(uint64_t position) { return position / Pattern::kSector * Pattern::kSector; }

uint64_t hash(std::span<const std::byte> bytes) {
  uint64_t out = bytes.size();
  for (uint64_t at = 0; at + kWord <= bytes.size(); at += kWord) out = mix64(out ^ load(bytes, at));
  return out;
}

// Checksum of a sector without its offset.
uint64_t checksum_of_content(uint64_t run, uint64_t ids, uint64_t rest) {
  return mix64(run ^ mix64(ids ^ rest));
}

uint64_t checksum(uint64_t offset, uint64_t content) { return mix64(offset ^ content); }

uint64_t checksum(uint64_t offset, uint64_t run, uint64_t ids, uint64_t rest) {
  return checksum(offset, checksum_of_content(run, ids, rest));
}

// The stamp of a whole sector whose checksum is right.
struct Stamp {
  uint64_t offset, run, ids;
  unsigned rank() const { return ids & 0xffff; }
  unsigned file() const { return ids >> 16 & 0xffff; }
  unsigned generation() const { return ids >> 32 & 0xffff; }
  uint64_t period() const { return (ids >> 48) * Pattern::kSector; }
};

std::optional<Stamp> whole_stamp(std::span<const std::byte> sector) {
  if (sector.size() != Pattern::kSector) return std::nullopt;
  const Stamp s{load(sector, 0), load(sector, kWord), load(sector, 2 * kWord)};
  const uint64_t sum = checksum(s.offset, s.run, s.ids, hash(sector.subspan(kStampBytes)));
  if (load(sector, 3 * kWord) != sum) return std::nullopt;
  return s;
}

}  // namespace

const char* damage_id(Damage damage) {
  constexpr const char* kNames[]{"io.missing", "io.stale",    "io.misplaced",
                                 "io.torn",    "io.bit_flip", "io.corrupt"};
  return kNames[static_cast<size_t>(damage)];
}

uint64_t Pattern::period_for(uint64_t block_bytes) {
  const bool fits = block_bytes % kSector == 0 && block_bytes <= kMaxPeriod;
  return fits && block_bytes >= kLargeBlock ? block_bytes : kPeriod;
}

Pattern::Pattern(Origin origin, uint64_t period) : origin_(origin), random_(period) {
  const uint64_t seed =
      mix64(origin.run ^ mix64(uint64_t{origin.rank} << 16 | uint64_t{origin.file}));
  for (uint64_t at = 0; at < period; at += kWord) {
    const uint64_t value = mix64(seed + at);
    std::memcpy(random_.data() + at, &value, kWord);
  }
  for (uint64_t at = 0; at < period; at += kSector) {
    hashes_.push_back(hash(std::span(random_).subspan(at + kStampBytes, kSector - kStampBytes)));
    written_.push_back(checksum_of_content(origin_.run, ids(kWritten), hashes_.back()));
  }
}

std::optional<Pattern> Pattern::of_file(std::span<const std::byte> first_sector) {
  const auto stamp = whole_stamp(first_sector);
  if (!stamp || stamp->offset != 0 || stamp->period() == 0) return std::nullopt;
  Pattern out(
      {stamp->run, static_cast<uint16_t>(stamp->rank()), static_cast<uint16_t>(stamp->file())},
      stamp->period());
  if (!out.sector_is(first_sector, 0, stamp->generation())) return std::nullopt;
  return out;
}

uint64_t Pattern::ids(unsigned generation) const {
  return uint64_t{origin_.rank} | uint64_t{origin_.file} << 16 |
         uint64_t{generation & 0xffff} << 32 | period() / kSector << 48;
}

uint64_t Pattern::word(uint64_t position, unsigned generation) const {
  switch (position % kSector) {
    case 0:
      return position;
    case kWord:
      return origin_.run;
    case 2 * kWord:
      return ids(generation);
    case 3 * kWord:
      return checksum(sector_of(position), origin_.run, ids(generation),
                      hashes_[position % period() / kSector]);
    default:
      return load(random_, position % period());
  }
}

void Pattern::fill(std::span<std::byte> block, uint64_t offset, unsigned generation) const {
  for (uint64_t done = 0; done < block.size();) {
    const uint64_t phase = (offset + done) % period();
    const uint64_t part = std::min<uint64_t>(period() - phase, block.size() - done);
    std::memcpy(block.data() + done, random_.data() + phase, part);
    done += part;
  }
  stamp(block, offset, generation);
}

void Pattern::stamp(std::span<std::byte> block, uint64_t offset, unsigned generation) const {
  if (offset % kSector == 0 && block.size() % kSector == 0)
    return stamp_whole_sectors(block, offset, generation);
  const uint64_t end = offset + block.size();
  for (uint64_t sector = sector_of(offset); sector < end; sector += kSector) {
    for (uint64_t position = sector; position < sector + kStampBytes; position += kWord) {
      if (position < offset || position >= end) continue;
      const uint64_t value = word(position, generation);
      std::memcpy(block.data() + (position - offset), &value, kWord);
    }
  }
}

// Writes what word() gives for the four words of each stamp, without its divisions and with the
// prepared part of the checksum: a block of 128 KiB has 256 stamps, which are made between two
// writes.
void Pattern::stamp_whole_sectors(std::span<std::byte> block, uint64_t offset,
                                  unsigned generation) const {
  const uint64_t id = ids(generation);
  size_t in_period = offset % period() / kSector;
  for (uint64_t at = 0; at < block.size(); at += kSector) {
    const uint64_t position = offset + at;
    const uint64_t content = generation == kWritten
                                 ? written_[in_period]
                                 : checksum_of_content(origin_.run, id, hashes_[in_period]);
    const std::array words{position, origin_.run, id, checksum(position, content)};
    std::memcpy(block.data() + at, words.data(), kStampBytes);
    if (++in_period == hashes_.size()) in_period = 0;
  }
}

bool Pattern::sector_is(std::span<const std::byte> bytes, uint64_t offset,
                        unsigned generation) const {
  uint64_t at = 0;
  for (; at < bytes.size() && (offset + at) % kSector < kStampBytes; at += kWord) {
    if (load(bytes, at) != word(offset + at, generation)) return false;
  }
  return std::memcmp(bytes.data() + at, random_.data() + (offset + at) % period(),
                     bytes.size() - at) == 0;
}

// The sector is as somebody wrote it: consistent in itself, but not what is expected here.
Mismatch Pattern::explain_whole(std::span<const std::byte> block, uint64_t offset, uint64_t at,
                                std::initializer_list<unsigned> generations) const {
  const Stamp stamp = *whole_stamp(block.subspan(at, kSector));
  const uint64_t position = offset + at;
  if (stamp.run != origin_.run)
    return {position, Damage::misplaced, said("io.holds_run", stamp.offset)};
  if (stamp.rank() != origin_.rank || stamp.file() != origin_.file)
    return {position, Damage::misplaced,
            said("io.holds_rank", stamp.rank(), stamp.file(), stamp.offset)};
  if (stamp.offset != position)
    return {position, Damage::misplaced, said("io.holds_offset", stamp.offset)};
  size_t sectors = 0, right = 0;
  for (uint64_t k = 0; k + kSector <= block.size(); k += kSector) {
    ++sectors;
    right += std::ranges::any_of(generations, [&](unsigned g) {
      return sector_is(block.subspan(k, kSector), offset + k, g);
    });
  }
  if (right > 0) return {position, Damage::torn, said("io.holds_torn", right, sectors)};
  return {position, Damage::stale, said("io.holds_earlier")};
}

int Pattern::wrong_bits(std::span<const std::byte> sector, uint64_t offset,
                        unsigned generation) const {
  int bits = 0;
  for (uint64_t at = 0; at + kWord <= sector.size(); at += kWord)
    bits += std::popcount(load(sector, at) ^ word(offset + at, generation));
  return bits;
}

Mismatch Pattern::explain_damaged(std::span<const std::byte> sector, uint64_t offset,
                                  unsigned generation) const {
  const int bits = wrong_bits(sector, offset, generation);
  uint64_t first = sector.size(), last_right = 0;
  for (uint64_t at = 0; at + kWord <= sector.size(); at += kWord) {
    const uint64_t wrong = load(sector, at) ^ word(offset + at, generation);
    if (wrong != 0) first = std::min(first, at);
    if (wrong == 0) last_right = at;
  }
  const uint64_t read = load(sector, first), written = word(offset + first, generation);
  const Said what = said("io.eight_bytes", fmt::format("{:016x}", read),
                         fmt::format("{:016x}", written), fmt::format("{:016x}", read ^ written));
  if (bits <= kFewBits)
    return {offset + first, Damage::bit_flip, said_count("io.bits_differ", bits, what)};
  const bool tail = first > 0 && last_right < first;
  return {offset + first, tail ? Damage::torn : Damage::corrupt,
          tail ? said("io.right_up_to_here", what) : what};
}

// Where the sector may hold one of several generations, it is compared with the nearest.
Mismatch Pattern::explain(std::span<const std::byte> block, uint64_t offset, uint64_t at,
                          std::initializer_list<unsigned> generations) const {
  const uint64_t position = offset + at;
  const uint64_t length =
      std::min<uint64_t>(sector_of(position) + kSector - position, block.size() - at);
  const auto sector = block.subspan(at, length);
  if (all_zero(sector)) return {position, Damage::missing, said("io.holds_zeros")};
  if (whole_stamp(sector)) return explain_whole(block, offset, at, generations);
  const unsigned nearest = *std::ranges::min_element(
      generations, {}, [&](unsigned g) { return wrong_bits(sector, position, g); });
  return explain_damaged(sector, position, nearest);
}

std::optional<Mismatch> Pattern::check(std::span<const std::byte> block, uint64_t offset,
                                       std::initializer_list<unsigned> generations) const {
  for (uint64_t at = 0; at < block.size();) {
    const uint64_t position = offset + at;
    const uint64_t length =
        std::min<uint64_t>(sector_of(position) + kSector - position, block.size() - at);
    const auto sector = block.subspan(at, length);
    const auto is = [&](unsigned g) { return sector_is(sector, position, g); };
    if (std::none_of(generations.begin(), generations.end(), is)) {
      Mismatch out = explain(block, offset, at, generations);
      out.what = said("io.damage", said(damage_id(out.damage)), out.what);
      return out;
    }
    at += length;
  }
  return std::nullopt;
}

}  // namespace cb::io
