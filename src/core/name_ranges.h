#pragma once

#include <string>
#include <vector>

namespace cb {

// Returns "node[0001-0003,0007],login" for node0003 login node0001 node0002 node0007: each name
// once, as Slurm writes node lists and --hosts reads them. Keeps text behind the last number of a
// name's host ("node0010:5"): names are folded if they differ only in that number.
std::string name_ranges(std::vector<std::string> names);

}  // namespace cb
