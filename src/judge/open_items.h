#pragma once

#include <vector>

#include "judge/handover.h"
#include "judge/verdict.h"

namespace cb {

// What stands in the way of a plain acceptance: criteria that fail or were not measured, items of
// the checklist without a passing result, issues that are open. Without days.
std::vector<OpenItem> open_items(const Campaign& campaign, const Judgement& judgement,
                                 const Paperwork& papers);

}  // namespace cb
