#pragma once

#include <vector>

#include "bench/harness/case.h"

namespace cb {

// `train --device gpu`. cuda/gpu_training.cpp does the work in a build with CUDA; in a build
// without, no_cuda.cpp skips it with the reason.
std::vector<Record> measure_gpu_training(Context& context, const Params& params);

}  // namespace cb
