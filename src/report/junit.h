#pragma once

#include <string>

#include "judge/signoff_data.h"
#include "judge/verdict.h"

namespace cb {

// The verdicts as JUnit XML: a suite per domain, a test per criterion, and behind it one per
// failing entity, the worst 50 of a criterion. What was not measured is an <error>, waived and not
// applicable are <skipped>, a warning passes and says so in its output. Names are unique, as
// GitLab keeps only the first of a name.
std::string render_junit(const Campaign& campaign, const Judgement& judgement,
                         const SignoffCheck& signatures = {});

}  // namespace cb
