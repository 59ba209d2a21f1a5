#pragma once

#include <cstdint>
#include <vector>

namespace cb {

// One random cycle through `lines` lines (Sattolo 1986): next[i] is the line that follows line i,
// and the cycle visits every line once. `lines` is at least 1.
std::vector<uint64_t> random_cycle(uint64_t lines, uint64_t seed);

// The line that is reached from line `from` after `steps` steps.
uint64_t follow(const std::vector<uint64_t>& next, uint64_t from, uint64_t steps);

}  // namespace cb
