#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "judge/campaign_data.h"

// Which host and which GPU of a later campaign is which of an earlier one.
namespace cb {

// A host of the earlier campaign and what became of it. An empty `after`: it is gone on purpose,
// and nothing that it lacks is missed.
struct MappedHost {
  std::string before, after;
  std::string how = {};  // "--map", or the serial numbers that both have
};

// A part that stands where another one stood: "gpu n1:3", and what names the pieces.
struct ExchangedPart {
  std::string what;
  std::string before, after;
};

struct HostMatch {
  std::vector<MappedHost> renamed;       // hosts whose names differ, and those gone on purpose
  std::vector<std::string> gone, fresh;  // without a counterpart
  std::vector<ExchangedPart> exchanged;

  // The entity as the later campaign calls it.
  Entity after(const Entity& before) const;
  std::string after(const std::string& host) const;
  // Whether nothing of it is asked for any more: its host or its peer's is gone on purpose.
  bool dropped(const Entity& before) const;
  // Its host, or its peer's, that has no counterpart; empty if both have one.
  std::string gone_host(const Entity& before) const;

  std::map<std::string, std::string> names = {};  // of every host that has a counterpart
  // {host, index} of a GPU, both as the earlier campaign calls them → its index now.
  std::map<std::pair<std::string, std::string>, std::string> gpus = {};
};

// Hosts of one name belong together, unless `map` says otherwise. Of those that are left, two
// belong together where most of the serial numbers and GPU UUIDs of the one are those of the other.
// Within a host a GPU is the one with the same UUID, else the one in the same slot (PCI address),
// else the one with the same index. Throws UsageError where the map names a host that neither
// campaign has, or one host twice.
HostMatch match_hosts(const Campaign& before, const Campaign& after,
                      const std::vector<MappedHost>& map);

// "old=new" each; "old=" for a host that is gone on purpose.
std::vector<MappedHost> parse_host_map(const std::vector<std::string>& texts,
                                       const std::string& where, Problems& problems);

}  // namespace cb
