#pragma once

#include "judge/verdict_evidence.h"

namespace cb {

// Every expected host's attributes against those of the majority: a finding per host with the
// number of attributes that differ, limit 0.
Evidence uniform_evidence(const Campaign& campaign, const HostNames& names,
                          const UniformRule& rule);

}  // namespace cb
