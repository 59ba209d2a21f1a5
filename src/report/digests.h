#pragma once

#include <string>

#include "judge/verdict.h"

namespace cb {

// The sha256 of MANIFEST.sha256, which lists the sha256 of everything measured; empty without one.
std::string manifest_digest(const Campaign& campaign);

// The sha256 of what was judged and how it came out, whatever the language and format of a report:
// campaign, profile, manifest, and each criterion with state, value and limit.
std::string verdict_digest(const Campaign& campaign, const Judgement& judgement);

}  // namespace cb
