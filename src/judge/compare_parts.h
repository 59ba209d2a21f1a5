#pragma once

#include <vector>

#include "judge/compare.h"

// The parts of compare_campaigns() that are not about changed figures.
namespace cb {

// Returns the figures of the earlier campaign that the later one lacks, in the order of the groups.
std::vector<Unmatched> missing_figures(const Compared& before, const Compared& after,
                                       const HostMatch& hosts);
// Returns the figures of the later campaign that the earlier one lacks.
std::vector<Unmatched> added_figures(const Compared& before, const Compared& after,
                                     const HostMatch& hosts);

// Returns every check that fails in either campaign. A check that fails now and did not fail before
// is worse, even if it was not made before. Adds checks that are no longer made to `missing`.
std::vector<CheckChange> compare_checks(const Compared& before, const Compared& after,
                                        const HostMatch& hosts, std::vector<Unmatched>& missing);

// Returns the criteria whose state differs, or that ask for something else. The order from best to
// worst is: pass; warn and waived; not applicable; incomplete; fail.
std::vector<VerdictChange> compare_verdicts(const Compared& before, const Compared& after);
// True if `after` is further from a pass than `before`.
bool is_worse(State after, State before);

}  // namespace cb
