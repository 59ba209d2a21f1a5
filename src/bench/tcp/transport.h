#pragma once

#include <string>
#include <vector>

#include "bench/case.h"
#include "bench/net/schedule.h"
#include "bench/tcp/end.h"

namespace cb::tcp {

// The ranks' interfaces: rail = same position on every host.
struct Setup {
  std::string skip;  // why nothing can be measured; empty if something can
  net::Nodes nodes;
  std::vector<net::Interface> rails;                 // of this rank
  std::vector<std::vector<std::string>> rail_names;  // of each node

  int rail_count() const { return static_cast<int>(rail_names.at(0).size()); }
};

// Collective. "auto" is the interface in the first network that every host is in (loopback on one
// host alone if there is no other); else interfaces by name. Throws the same UsageError on all
// ranks.
Setup set_up(Context& context, const std::vector<std::string>& asked);

}  // namespace cb::tcp
