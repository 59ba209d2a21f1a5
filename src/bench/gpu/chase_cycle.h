#pragma once

#include <cstdint>
#include <vector>

namespace cb {

// One random cycle through `lines` lines (Sattolo 1986): next[i] is the line behind line i, and
// every line is visited once. `lines` is at least 1.
std::vector<uint64_t> random_cycle(uint64_t lines, uint64_t seed);

// Where `steps` steps from line `from` lead.
uint64_t follow(const std::vector<uint64_t>& next, uint64_t from, uint64_t steps);

}  // namespace cb
