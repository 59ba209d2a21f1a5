#pragma once

#include "bench/harness/case.h"

namespace cb::io {

// The metadata workload: every rank creates, stats, opens and reads, and unlinks --files files of
// 4 KiB in a directory of its own; each phase starts behind a barrier. Collective.
Record measure_metadata(Context& context, const Params& params);

}  // namespace cb::io
