#pragma once

#include <vector>

#include "bench/harness/case.h"
#include "core/result.h"

namespace cb::io {

// The workload "mixed": a data set is read alone, then while every rank writes a checkpoint.
// Records: the undisturbed reading (workload dataset-read), the reading meanwhile with its share of
// the undisturbed rate, and the checkpoint. Collective.
std::vector<Record> measure_mixed(Context& context, const Params& params);

}  // namespace cb::io
