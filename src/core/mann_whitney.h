#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace cb {

// Two-sided p-value of the Mann–Whitney test (1947, Ann. Math. Stat. 18:50), from the exact
// distribution of the rank sum over all divisions of the samples: the share of divisions whose rank
// sum is at least as far from its mean. Uses the samples' midranks, so ties are exact too. Nothing
// for more than 30 samples together: the normal approximation is good enough there.
std::optional<double> exact_mann_whitney(std::span<const double> a, std::span<const double> b);

// Returns the smallest two-sided p that n and m samples without ties can give: 2 / C(n + m, n).
double smallest_p(uint64_t n, uint64_t m);

}  // namespace cb
