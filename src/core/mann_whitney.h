#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cb {

// Result of the Mann–Whitney (Wilcoxon rank-sum) test.
struct MannWhitney {
  double u = 0;        // pairs in which a's value is the greater, ties counted half
  double p = 1;        // two-sided
  bool exact = false;  // else the normal approximation
};

// Whether two sets of samples come from one distribution, against one being greater (Mann and
// Whitney 1947, Ann. Math. Stat. 18:50). Up to 30 samples together: the exact distribution of the
// rank sum over all divisions, given the midranks, so ties are exact as well; two-sided p is the
// share of divisions at least as far from the mean. Beyond: normal approximation with tie and
// continuity correction (Lehmann, Nonparametrics, §1.4). Needs one sample on each side.
MannWhitney mann_whitney(std::span<const double> a, std::span<const double> b);

// The smallest two-sided p that n and m samples without ties can give: 2 / C(n + m, n).
double smallest_p(uint64_t n, uint64_t m);

// p-values adjusted so that calling all below alpha significant keeps the expected share of false
// ones below alpha (Benjamini and Hochberg 1995). In the order given.
std::vector<double> benjamini_hochberg(std::span<const double> p);

}  // namespace cb
