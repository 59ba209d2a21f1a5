#pragma once

#include <vector>

#include "bench/harness/case.h"

namespace cb {

// The work of the case `overlap`: nccl/cuda/overlap.cpp in a build with CUDA. In a build without,
// nccl/no_cuda.cpp skips it with the reason.
std::vector<Record> measure_overlap(Context& context, const Params& params);

}  // namespace cb
