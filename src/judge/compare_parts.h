#pragma once

#include <vector>

#include "judge/compare.h"

// The parts of compare_campaigns() beside the figures.
namespace cb {

// The figures of the earlier campaign that the later one lacks, in the order of the groups.
std::vector<Unmatched> missing_figures(const Compared& before, const Compared& after,
                                       const HostMatch& hosts);
// Those of the later one that the earlier one lacks.
std::vector<Unmatched> added_figures(const Compared& before, const Compared& after,
                                     const HostMatch& hosts);

// Every check that fails in either campaign. A check that fails and did not fail before is worse,
// whether or not it was made before. Checks that were made and are not any more are added to
// `missing`.
std::vector<CheckChange> compare_checks(const Compared& before, const Compared& after,
                                        const HostMatch& hosts, std::vector<Unmatched>& missing);

// The criteria whose state is not the same, or that ask for something else. From the best to the
// worst: pass; warn and waived; not applicable; incomplete; fail.
std::vector<VerdictChange> compare_verdicts(const Compared& before, const Compared& after);
// Whether a state is further from a pass.
bool is_worse(State after, State before);

}  // namespace cb
