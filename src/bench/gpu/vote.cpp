#include "bench/gpu/vote.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace cb {
namespace {

constexpr const char* kSchema = "clusterbench.golden/1";

}  // namespace

Golden vote(const std::vector<Ballot>& ballots) {
  std::map<std::string, std::map<uint64_t, size_t>> counts;
  std::map<std::string, size_t> voters;
  for (const Ballot& b : ballots) {
    ++counts[b.kind][b.hash];
    ++voters[b.kind];
  }
  Golden out;
  for (const auto& [kind, hashes] : counts) {
    const auto most = std::ranges::max_element(
        hashes, [](const auto& a, const auto& b) { return a.second < b.second; });
    if (voters[kind] == 1) out.alone.push_back(kind);
    if (2 * most->second > voters[kind])
      out.by_kind[kind] = most->first;
    else
      out.undecided[kind] = said("burn.no_majority", voters[kind], hashes.size());
  }
  return out;
}

std::string golden_to_text(const std::map<std::string, uint64_t>& by_kind) {
  nlohmann::json out{{"schema", kSchema}, {"hashes", nlohmann::json::object()}};
  for (const auto& [kind, hash] : by_kind) out["hashes"][kind] = fmt::format("{:016x}", hash);
  return out.dump(2) + "\n";
}

std::map<std::string, uint64_t> golden_from_text(const std::string& text,
                                                 const std::string& source) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object() || json.value("schema", "") != kSchema ||
      !json.contains("hashes") || !json["hashes"].is_object())
    throw UsageError("clusterbench burn", "--golden",
                     fmt::format("{} is no {} file", source, kSchema));
  std::map<std::string, uint64_t> out;
  for (const auto& [kind, hash] : json["hashes"].items()) {
    const std::string digits = hash.is_string() ? hash.get<std::string>() : "";
    if (digits.size() != 16 || digits.find_first_not_of("0123456789abcdef") != std::string::npos)
      throw UsageError("clusterbench burn", "--golden",
                       fmt::format("{}: the hash of {} is not 16 hex digits", source, kind));
    out[kind] = std::stoull(digits, nullptr, 16);
  }
  return out;
}

WrongPlace locate_wrong(uint64_t word, uint64_t found, uint64_t wanted, int element_bits,
                        int64_t rows) {
  const uint64_t differing = found ^ wanted;
  const int per_word = 64 / element_bits;
  const uint64_t mask = element_bits == 64 ? ~uint64_t{0} : (uint64_t{1} << element_bits) - 1;
  WrongPlace out;
  for (int i = 0; i < per_word; ++i) {
    const uint64_t bits = differing >> (i * element_bits) & mask;
    if (bits == 0) continue;
    const auto element = static_cast<int64_t>(word) * per_word + i;
    out.row = element % rows;
    out.column = element / rows;
    out.bits = bits;
    break;
  }
  return out;
}

std::string to_text(const WrongPlace& place) {
  std::string bits;
  int count = 0;
  for (int bit = 0; bit < 64; ++bit) {
    if ((place.bits >> bit & 1U) == 0) continue;
    bits += fmt::format("{}{}", count == 0 ? "" : " ", bit);
    ++count;
  }
  constexpr int64_t kTile = 128;  // the tile that the library's kernels usually give to one SM
  return fmt::format("row {} column {} (tile {},{} of {}×{}), bit{} {}", place.row, place.column,
                     place.row / kTile, place.column / kTile, kTile, kTile, count == 1 ? "" : "s",
                     bits);
}

}  // namespace cb
