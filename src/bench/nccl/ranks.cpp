#include "bench/nccl/ranks.h"

#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cb::nccl {

using nlohmann::json;

void check_rank_map(const std::vector<RankDevices>& ranks, Problems& problems) {
  std::map<std::string, size_t> owner;  // by identity
  for (size_t r = 0; r < ranks.size(); ++r) {
    const RankDevices& one = ranks[r];
    if (one.names.empty()) {
      problems.add(one.host,
                   fmt::format("rank {} has no GPU left: start at most as many ranks on a "
                               "host as it has GPUs",
                               r));
      continue;
    }
    if (one.names.size() != ranks[0].names.size() && !ranks[0].names.empty())
      problems.add(one.host,
                   fmt::format("rank {} drives {} GPUs and rank 0 on {} drives {}: give every rank "
                               "the same number with --gpus, and every host the same number of "
                               "ranks",
                               r, one.names.size(), ranks[0].host, ranks[0].names.size()));
    for (size_t d = 0; d < one.identities.size(); ++d) {
      if (one.identities[d].empty()) continue;
      const auto [found, fresh] = owner.try_emplace(one.identities[d], r);
      if (!fresh)
        problems.add(one.host, fmt::format("ranks {} and {} share {}: start one rank per GPU",
                                           found->second, r, one.names[d]));
    }
  }
}

std::string rank_map_text(const std::vector<RankDevices>& ranks, size_t most) {
  std::string out;
  size_t rank = 0;
  for (const RankDevices& one : ranks) {
    for (const std::string& name : one.names) {
      if (rank++ < most)
        out += fmt::format("{}rank {}: {} {}", out.empty() ? "" : "; ", rank - 1, one.host, name);
    }
  }
  if (rank > most) out += fmt::format("; and {} more", rank - most);
  return out;
}

std::vector<RankDevices> gather_rank_map(Context& context, const Devices& mine,
                                         const std::string& placed) {
  json part{{"host", context.place.host}, {"identities", json::array()}, {"names", json::array()}};
  for (const auto& device : mine) {
    part["identities"].push_back(device->identity());
    part["names"].push_back(device->name() + (placed.empty() ? "" : ", " + placed));
  }
  json all = json::array();
  for (const std::string& blob : context.comm.gather(part.dump()))
    if (!blob.empty()) all.push_back(json::parse(blob));
  std::vector<RankDevices> out;
  for (const json& j : json::parse(context.comm.broadcast_text(all.dump())))
    out.push_back({j.at("host"), j.at("identities"), j.at("names")});
  return out;
}

}  // namespace cb::nccl
