#pragma once

#include "judge/verdict_evidence.h"

namespace cb {

// Returns the hosts' inventories under the names by which the hosts were requested. A host without
// one becomes a gap.
std::vector<HostInventory> expected_inventories(const Campaign& campaign, const HostNames& names,
                                                Evidence& evidence);

// Compares every expected host's attributes with those of most hosts. Each host gets a finding: the
// number of attributes that differ, with limit 0. Of two values that are equally frequent none is
// taken for the right one.
Evidence uniform_evidence(const Campaign& campaign, const HostNames& names,
                          const UniformRule& rule);

}  // namespace cb
