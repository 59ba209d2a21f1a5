#pragma once

#include <string>

#include "judge/signoff_data.h"
#include "judge/verdict.h"

namespace cb {

// The verdicts as JUnit XML: a suite per domain and a test per criterion, followed by a test per
// failing entity (the worst 50 of each criterion). What was not measured is an <error>. Waived and
// not applicable are <skipped>. A warning passes and says so in its output. Names are unique, since
// GitLab keeps only the first test of a name.
std::string render_junit(const Campaign& campaign, const Judgement& judgement,
                         const SignoffCheck& signatures = {});

}  // namespace cb
