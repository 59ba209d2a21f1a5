#pragma once

#include "core/json/quick_json.h"
#include "core/result.h"

namespace cb::quick {

// A metric with its samples or histogram, from which its summary must follow.
Metric metric(Value v);

}  // namespace cb::quick
