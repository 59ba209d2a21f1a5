#pragma once

#include <vector>

#include "bench/harness/case.h"

namespace cb {

// `moe --device gpu`. cuda/gpu_moe.cpp does the work in a build with CUDA; in a build without,
// no_cuda.cpp skips it with the reason.
std::vector<Record> measure_gpu_moe(Context& context, const Params& params);

}  // namespace cb
