#include "bench/network/pairs/room.h"

#include <set>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/units.h"
#include "sys/cpu/host_memory.h"

namespace cb {
namespace {

constexpr int kPercentForMessages = 75;  // the library and the system need some too

constexpr size_t kMaxPairsNamed = 8;

using nlohmann::json;

std::string to_text(const HeldMemory& held) {
  json unended = json::array();
  for (const UnendedTransfer& t : held.unended) unended.push_back({t.round, t.from, t.to, t.bytes});
  json room;  // null if it is not known
  if (held.room) room = *held.room;
  return json{{"unended", unended}, {"next_round", held.next_round}, {"room", room}}.dump();
}

HeldMemory held_from_text(const std::string& text) {
  const json document = json::parse(text);
  HeldMemory out{.unended = {}, .next_round = document["next_round"]};
  if (!document["room"].is_null()) out.room = document["room"].get<uint64_t>();
  for (const json& t : document["unended"]) out.unended.push_back({t[0], t[1], t[2], t[3]});
  return out;
}

// What the ranks of one host hold, together. The first of them knows the room.
struct HostHeld {
  uint64_t unended = 0;
  uint64_t next_round = 0;
  std::optional<uint64_t> room = {};
  int ranks = 0;
};

std::vector<HostHeld> by_host(const std::vector<HeldMemory>& ranks, const RankMap& place) {
  std::vector<HostHeld> out(place.hosts.size());
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    HostHeld& host = out[static_cast<size_t>(place.host_of_rank[rank])];
    if (host.ranks++ == 0) host.room = ranks[rank].room;
    host.next_round += ranks[rank].next_round;
    for (const UnendedTransfer& t : ranks[rank].unended) host.unended += t.bytes;
  }
  return out;
}

Said pair_name(const std::pair<int, int>& pair, const RankMap& place) {
  const auto host = [&](int rank) {
    return place.hosts[static_cast<size_t>(place.host_of_rank[static_cast<size_t>(rank)])];
  };
  return said("locate.pair_of_ranks", host(pair.first), pair.first, host(pair.second), pair.second);
}

// Why the job cannot go on: the host is full, and with what its ranks hold.
Said no_room_beside(size_t which, const HostHeld& host, const std::vector<HeldMemory>& ranks,
                    const RankMap& place) {
  std::set<uint64_t> rounds;
  std::set<std::pair<int, int>> pairs;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (place.host_of_rank[rank] != static_cast<int>(which)) continue;
    for (const UnendedTransfer& t : ranks[rank].unended) {
      rounds.insert(t.round);
      pairs.insert({t.from, t.to});
    }
  }
  std::vector<Said> names;
  for (const auto& pair : pairs) {
    if (names.size() < kMaxPairsNamed) names.push_back(pair_name(pair, place));
  }
  const auto bytes = [](uint64_t n) { return format_value(static_cast<double>(n), "bytes"); };
  return said("locate.no_room_beside", rounds.size(), place.hosts[which], bytes(host.unended),
              bytes(host.next_round), bytes(*host.room), pairs.size(), said_names(names));
}

Said first_without_room(const std::vector<HeldMemory>& ranks, const RankMap& place) {
  const std::vector<HostHeld> hosts = by_host(ranks, place);
  for (size_t i = 0; i < hosts.size(); ++i) {
    const HostHeld& h = hosts[i];
    if (h.unended > 0 && h.room && h.unended + h.next_round > *h.room)
      return no_room_beside(i, h, ranks, place);
  }
  return {};
}

}  // namespace

std::optional<uint64_t> room_for_messages(const FsRoot& fs) {
  const auto available = available_memory_bytes(fs);
  if (!available) return std::nullopt;
  return *available / 100 * kPercentForMessages;
}

// Rank 0 decides. Most rounds end on all ranks: they cost one small reduction.
void require_room_beside(Context& context, const HeldMemory& mine) {
  if (!context.comm.any(!mine.unended.empty())) return;
  std::vector<HeldMemory> ranks;
  for (const std::string& text : context.comm.gather(to_text(mine)))
    ranks.push_back(held_from_text(text));
  const Said full = context.comm.is_root() ? first_without_room(ranks, context.place) : Said();
  const std::string agreed = context.comm.broadcast_text(full.empty() ? "" : pack_said(full));
  if (!agreed.empty()) throw Error(unpack_said(agreed));
}

void require_room(Context& context, uint64_t bytes, int ranks) {
  const auto available = available_memory_bytes(context.fs);
  const double needed = static_cast<double>(bytes) * ranks;
  Problems problems;
  if (context.place.first_on_host() && available &&
      needed > kPercentForMessages / 100.0 * static_cast<double>(*available))
    problems.add("--size",
                 said("locate.no_room", context.place.host, ranks, format_value(needed, "bytes"),
                      format_value(static_cast<double>(*available), "bytes"), kPercentForMessages));
  throw_agreed(context.comm, "clusterbench " + std::string(context.info->name), problems);
}

}  // namespace cb
