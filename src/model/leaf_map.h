#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/error.h"

namespace cb {

// Maps a host to its leaf switch.
using LeafMap = std::map<std::string, std::string>;

// Reads lines "HOST LEAF" or "HOST NIC LEAF" (a # that begins a word begins a comment), the result
// document of `fabric`,
// or the output of `ibnetdiscover`: there the host is the first word of a channel adapter's
// description, and its leaf is the switch that lists it (with its id where several have one
// description). A host on several leaves (one a rail) gets
// the first of their names, which hosts with equal wiring share. Adds errors to `problems` with
// their lines; a text that names no host is an error too.
LeafMap parse_leaf_map(const std::string& text, Problems& problems);

// Returns the number of each host's leaf; leaves are numbered in the order of their names. A host
// is found by its name or by the part of it before the first dot. Adds a host that the map lacks to
// `problems`.
std::vector<int> leaf_groups(const LeafMap& map, const std::vector<std::string>& hosts,
                             Problems& problems);

// The leaf of every NIC of every host.
struct NicLeaves {
  std::vector<int> leaf;           // hosts[h]'s nics[n] is at h * nics.size() + n
  std::vector<std::string> names;  // names of the leaves, by their number
};

// Reads the leaf of each NIC from the same text. It is the NIC's own leaf if the text names it
// (ibnetdiscover describes the adapter as "host nic …"), else the host's leaf. An empty NIC name
// stands for the host. Adds to `problems` what leaf_groups() would add.
NicLeaves nic_leaves(const std::string& text, const std::vector<std::string>& hosts,
                     const std::vector<std::string>& nics, Problems& problems);

}  // namespace cb
