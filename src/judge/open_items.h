#pragma once

#include <vector>

#include "judge/handover.h"
#include "judge/verdict.h"

namespace cb {

// Returns what stands in the way of a plain acceptance: criteria that fail or were not measured,
// checklist items that failed or were not checked, open issues. No item has a due day.
std::vector<OpenItem> open_items(const Campaign& campaign, const Judgement& judgement,
                                 const Paperwork& papers);

}  // namespace cb
