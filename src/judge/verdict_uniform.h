#pragma once

#include "judge/verdict_evidence.h"

namespace cb {

// Compares every expected host's attributes with those of the majority. Each host gets a finding:
// the number of attributes that differ, with limit 0.
Evidence uniform_evidence(const Campaign& campaign, const HostNames& names,
                          const UniformRule& rule);

}  // namespace cb
