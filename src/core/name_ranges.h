#pragma once

#include <string>
#include <vector>

namespace cb {

// "node[0001-0003,0007],login" for node0003 login node0001 node0002 node0007: each name once, as
// Slurm writes node lists and --hosts reads them. What stands behind the last number of a name's
// host ("node0010:5") is kept: names are folded where all but that number is equal.
std::string name_ranges(std::vector<std::string> names);

}  // namespace cb
