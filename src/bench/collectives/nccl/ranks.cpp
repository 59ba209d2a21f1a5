#include "bench/collectives/nccl/ranks.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sys/gpu/pci_reach.h"

namespace cb::nccl {

using nlohmann::json;

namespace {

std::optional<std::string> nearest_nics_of(const Device& device, const FsRoot& fs) {
  std::string out;
  for (const ReachedNic& nic : nearest_nics(fs, device.pci_address()))
    out += fmt::format("{}{} ({})", out.empty() ? "" : ", ", nic.device, pci_reach_name(nic.reach));
  return out.empty() ? std::nullopt : std::optional(out);
}

// What the host's inventory tells of the device, which is a part by its PCI address.
std::string domain_of(const Device& device, const HostInventory& inventory) {
  for (const Part* gpu : inventory.all("gpu")) {
    if (gpu->id == device.pci_address()) return text_of(gpu, "nvlink_domain").value_or("");
  }
  return "";
}

// The nearest RDMA devices of the process's device with this number.
std::optional<std::string> nics_beside(const RankDevices& one, size_t device) {
  return device < one.nearest_nics.size() ? one.nearest_nics[device] : std::nullopt;
}

// Joins what `line` says about the first `most` ranks of the library; each device is a rank.
template <typename Line>
std::string rank_lines(const std::vector<RankDevices>& ranks, size_t most, Line line) {
  std::string out;
  size_t rank = 0;
  for (const RankDevices& one : ranks) {
    for (size_t d = 0; d < one.names.size(); ++d, ++rank) {
      const std::optional<std::string> text = rank < most ? line(one, d) : std::nullopt;
      if (text) out += fmt::format("{}rank {}: {}", out.empty() ? "" : "; ", rank, *text);
    }
  }
  if (rank > most && !out.empty()) out += fmt::format("; and {} more", rank - most);
  return out;
}

}  // namespace

void check_rank_map(const std::vector<RankDevices>& ranks, Problems& problems) {
  std::map<std::string, size_t> owner;  // identity → process that owns it
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
  return rank_lines(ranks, most, [](const RankDevices& one, size_t d) {
    const auto nics = nics_beside(one, d);
    return std::optional(one.host + " " + one.names[d] + (nics ? ", nearest NICs " + *nics : ""));
  });
}

std::optional<std::string> nearest_nics_text(const std::vector<RankDevices>& ranks, size_t most) {
  std::string out = rank_lines(ranks, most, nics_beside);
  return out.empty() ? std::nullopt : std::optional(std::move(out));
}

std::vector<RankDevices> gather_rank_map(Context& context, const Devices& mine,
                                         const std::string& placed) {
  json part{{"host", context.place.host},
            {"identities", json::array()},
            {"names", json::array()},
            {"nearest_nics", json::array()},
            {"domains", json::array()}};
  for (const auto& device : mine) {
    part["domains"].push_back(domain_of(*device, context.inventory));
    part["identities"].push_back(device->identity());
    part["names"].push_back(device->name() + (placed.empty() ? "" : ", " + placed));
    const auto nics = nearest_nics_of(*device, context.fs);
    part["nearest_nics"].push_back(nics ? json(*nics) : json());
  }
  json all = json::array();
  for (const std::string& blob : context.comm.gather(part.dump()))
    if (!blob.empty()) all.push_back(json::parse(blob));
  std::vector<RankDevices> out;
  for (const json& j : json::parse(context.comm.broadcast_text(all.dump()))) {
    RankDevices one{j.at("host"), j.at("identities"), j.at("names")};
    for (const json& nics : j.at("nearest_nics"))
      one.nearest_nics.push_back(nics.is_null() ? std::nullopt
                                                : std::optional(nics.get<std::string>()));
    one.domains = j.at("domains").get<std::vector<std::string>>();
    out.push_back(std::move(one));
  }
  return out;
}

std::vector<std::string> domain_of_processes(const std::vector<RankDevices>& ranks) {
  std::vector<std::string> out;
  for (const RankDevices& one : ranks) {
    const bool same = std::ranges::all_of(
        one.domains, [&](const std::string& d) { return d == one.domains.front(); });
    out.push_back(same && !one.domains.empty() ? one.domains.front() : "");
  }
  return out;
}

std::vector<std::string> host_names(const std::vector<RankDevices>& ranks) {
  std::vector<std::string> out;
  std::set<std::string> seen;
  for (const RankDevices& one : ranks) {
    if (seen.insert(one.host).second) out.push_back(one.host);
  }
  return out;
}

std::vector<DomainSeat> domain_seats(const std::vector<RankDevices>& ranks) {
  std::map<std::string, int> number;
  std::vector<DomainSeat> out;
  for (const RankDevices& one : ranks) {
    const int host = number.try_emplace(one.host, static_cast<int>(number.size())).first->second;
    for (const std::string& domain : one.domains) out.push_back({host, domain});
  }
  return out;
}

std::string domains_text(const std::vector<DomainCount>& domains,
                         const std::vector<std::string>& hosts) {
  constexpr size_t kMostDomains = 32;
  std::string out;
  for (size_t i = 0; i < domains.size() && i < kMostDomains; ++i) {
    const DomainCount& d = domains[i];
    out += fmt::format("{}{}: {} GPUs on {}", i == 0 ? "" : "; ", d.domain, d.gpus,
                       d.only_host ? hosts.at(static_cast<size_t>(*d.only_host))
                                   : fmt::format("{} hosts", d.hosts));
  }
  if (domains.size() > kMostDomains)
    out += fmt::format("; and {} more", domains.size() - kMostDomains);
  return out;
}

}  // namespace cb::nccl
