#pragma once

#include <vector>

#include "bench/harness/case.h"

namespace cb::io {

// The metadata workload: every rank creates, stats, opens and reads, and unlinks --files files of
// 4 KiB in a directory of its own; each phase starts behind a barrier. One record; where a phase
// fails or a signal comes, it has the phases before. Collective.
std::vector<Record> measure_metadata(Context& context, const Params& params);

}  // namespace cb::io
