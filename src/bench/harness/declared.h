#pragma once

#include "core/catalogue.h"
#include "core/result.h"

namespace cb {

// Gives every metric of the record the unit and the direction that the case declares for its name.
// Throws Error for a metric that the case does not declare, or declares otherwise: no profile could
// name it.
void complete_metrics(Record& record, const CaseInfo& info);

}  // namespace cb
