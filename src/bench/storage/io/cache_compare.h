#pragma once

#include <vector>

#include "bench/harness/case.h"
#include "core/result.h"

namespace cb::io {

// The workload "memory-cache": the data set read from a directory in memory (--cache-dir, a tmpfs)
// and from --dir, and how many times as fast memory is. Two records, told apart by their dir.
// Throws Error if --cache-dir is on no memory. Collective.
std::vector<Record> measure_memory_cache(Context& context, const Params& params);

}  // namespace cb::io
