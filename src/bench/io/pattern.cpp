#include "bench/io/pattern.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "bench/io/offsets.h"

namespace cb::io {
namespace {

constexpr uint64_t kWord = 8;
constexpr uint64_t kStampBytes = 2 * kWord;

uint64_t load(std::span<const std::byte> bytes, uint64_t at) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, kWord);
  return value;
}

bool all_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

uint64_t sector_of(uint64_t position) { return position / Pattern::kSector * Pattern::kSector; }

}  // namespace

Pattern::Pattern(uint64_t seed, uint64_t file_key) : file_key_(file_key), random_(kPeriod) {
  for (uint64_t at = 0; at < kPeriod; at += kWord) {
    const uint64_t value = mix64(mix64(seed) + at);
    std::memcpy(random_.data() + at, &value, kWord);
  }
}

uint64_t Pattern::key(unsigned generation) const { return mix64(file_key_ + generation); }

uint64_t Pattern::word(uint64_t position, unsigned generation) const {
  switch (position % kSector) {
    case 0:
      return position;
    case kWord:
      return key(generation);
    default:
      return load(random_, position % kPeriod);
  }
}

void Pattern::fill(std::span<std::byte> block, uint64_t offset, unsigned generation) const {
  for (uint64_t done = 0; done < block.size();) {
    const uint64_t phase = (offset + done) % kPeriod;
    const uint64_t part = std::min<uint64_t>(kPeriod - phase, block.size() - done);
    std::memcpy(block.data() + done, random_.data() + phase, part);
    done += part;
  }
  stamp(block, offset, generation);
}

void Pattern::stamp(std::span<std::byte> block, uint64_t offset, unsigned generation) const {
  const uint64_t end = offset + block.size();
  const uint64_t mark = key(generation);
  const auto put = [&](uint64_t position, uint64_t value) {
    if (position >= offset && position < end)
      std::memcpy(block.data() + (position - offset), &value, kWord);
  };
  for (uint64_t sector = sector_of(offset); sector < end; sector += kSector) {
    put(sector, sector);
    put(sector + kWord, mark);
  }
}

bool Pattern::sector_is(std::span<const std::byte> bytes, uint64_t offset,
                        unsigned generation) const {
  uint64_t at = 0;
  for (; at < bytes.size() && (offset + at) % kSector < kStampBytes; at += kWord) {
    if (load(bytes, at) != word(offset + at, generation)) return false;
  }
  return std::memcmp(bytes.data() + at, random_.data() + (offset + at) % kPeriod,
                     bytes.size() - at) == 0;
}

Mismatch Pattern::explain(std::span<const std::byte> bytes, uint64_t offset,
                          unsigned generation) const {
  if (all_zero(bytes)) return {offset, "holds zeros, as if never written"};
  const bool whole = offset % kSector == 0 && bytes.size() >= kStampBytes;
  if (whole && load(bytes, kWord) == key(generation) && load(bytes, 0) != offset)
    return {offset, fmt::format("holds the data of offset {}", load(bytes, 0))};
  if (whole && load(bytes, 0) == offset && load(bytes, kWord) != key(generation))
    return {offset, "holds the data of an earlier write"};
  uint64_t at = 0;
  while (at + kWord < bytes.size() && load(bytes, at) == word(offset + at, generation)) at += kWord;
  const uint64_t wrong = load(bytes, at) ^ word(offset + at, generation);
  return {offset + at, fmt::format("8 bytes read as {:016x}, written as {:016x}, differ by {:016x}",
                                   load(bytes, at), word(offset + at, generation), wrong)};
}

std::optional<Mismatch> Pattern::check(std::span<const std::byte> block, uint64_t offset,
                                       std::initializer_list<unsigned> generations) const {
  for (uint64_t at = 0; at < block.size();) {
    const uint64_t position = offset + at;
    const uint64_t length =
        std::min<uint64_t>(sector_of(position) + kSector - position, block.size() - at);
    const auto sector = block.subspan(at, length);
    const auto is = [&](unsigned g) { return sector_is(sector, position, g); };
    if (std::none_of(generations.begin(), generations.end(), is))
      return explain(sector, position, *(generations.end() - 1));
    at += length;
  }
  return std::nullopt;
}

}  // namespace cb::io
