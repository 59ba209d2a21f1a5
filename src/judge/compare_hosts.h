#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "judge/campaign_data.h"

// Matches the hosts and GPUs of an earlier campaign to those of a later one.
namespace cb {

// A host of the earlier campaign and its name in the later one. An empty `after` means that it is
// gone on purpose: its figures are not missed.
struct MappedHost {
  std::string before, after;
  std::string how = {};  // "--map", or how many serial numbers are the same
};

// A part in the place of another one: "gpu n1:3", and the serial number or UUID of each.
struct ExchangedPart {
  std::string what;
  std::string before, after;
};

struct HostMatch {
  std::vector<MappedHost> renamed;       // hosts whose names differ, and those gone on purpose
  std::vector<std::string> gone, fresh;  // hosts without a counterpart
  std::vector<ExchangedPart> exchanged;

  // Returns the entity as the later campaign names it.
  Entity after(const Entity& before) const;
  std::string after(const std::string& host) const;
  // True if its host or its peer's host is gone on purpose, so that it is no longer asked for.
  bool dropped(const Entity& before) const;
  // Returns its host or its peer's host if that one has no counterpart; "" if both have one.
  std::string gone_host(const Entity& before) const;

  std::map<std::string, std::string> names = {};  // earlier name → later name
  // {host, index} of a GPU, both as the earlier campaign names them → its index now.
  std::map<std::pair<std::string, std::string>, std::string> gpus = {};
};

// Hosts with the same name match, unless `map` says otherwise. Of the others, two match if they
// share most of their serial numbers and GPU UUIDs. Within a host a GPU matches by UUID, else by
// slot (PCI address), else by index. Throws UsageError if the map names a host that neither
// campaign has, or one host twice.
HostMatch match_hosts(const Campaign& before, const Campaign& after,
                      const std::vector<MappedHost>& map);

// Parses "old=new" texts; "old=" says that the host is gone on purpose.
std::vector<MappedHost> parse_host_map(const std::vector<std::string>& texts,
                                       const std::string& where, Problems& problems);

}  // namespace cb
