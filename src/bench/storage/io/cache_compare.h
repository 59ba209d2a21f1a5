#pragma once

#include <vector>

#include "bench/harness/case.h"
#include "core/result.h"

namespace cb::io {

// The workload "memory-cache": reads the data set from a directory in memory (--cache-dir, a tmpfs)
// and from --dir, and says how many times as fast memory is. Makes two records, told apart by their
// dir. Throws Error if --cache-dir is not in memory. Collective.
std::vector<Record> measure_memory_cache(Context& context, const Params& params);

}  // namespace cb::io
