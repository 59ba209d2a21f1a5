#pragma once

#include <string>

#include "judge/verdict.h"

namespace cb {

// The sha256 of MANIFEST.sha256, which lists the sha256 of everything measured. Empty if there is
// no manifest.
std::string manifest_digest(const Campaign& campaign);

// The sha256 of what was judged and of the result: campaign, profile, manifest, and each criterion
// with state, value and limit. It does not depend on a report's language or format.
std::string verdict_digest(const Campaign& campaign, const Judgement& judgement);

}  // namespace cb
