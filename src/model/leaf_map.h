#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/error.h"

namespace cb {

// Host to the leaf switch that it hangs on.
using LeafMap = std::map<std::string, std::string>;

// Reads lines "HOST LEAF" (# begins a comment), or what `ibnetdiscover` prints: there the host is
// the first word of a channel adapter's description and its leaf the switch that lists it. A host
// on several leaves (one a rail) counts to the first of their names, which hosts wired alike share.
// What is wrong is added to `problems` with its line; a text that names no host is wrong too.
LeafMap parse_leaf_map(const std::string& text, Problems& problems);

// The number of each host's leaf, leaves numbered in the order of their names. A host is known by
// its name or by what stands before the first dot; one that the map lacks is added to `problems`.
std::vector<int> leaf_groups(const LeafMap& map, const std::vector<std::string>& hosts,
                             Problems& problems);

// The leaf of every NIC of every host.
struct NicLeaves {
  std::vector<int> leaf;           // of hosts[h]'s nics[n] at h * nics.size() + n
  std::vector<std::string> names;  // of the leaves, by their number
};

// From the same text: the NIC's own leaf where it is ibnetdiscover's and describes the adapter as
// "host nic …", else the host's. An empty name of a NIC stands for the host. What leaf_groups()
// would say is added to `problems`.
NicLeaves nic_leaves(const std::string& text, const std::vector<std::string>& hosts,
                     const std::vector<std::string>& nics, Problems& problems);

}  // namespace cb
