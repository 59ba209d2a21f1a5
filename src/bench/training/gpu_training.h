#pragma once

#include <vector>

#include "bench/harness/case.h"

namespace cb {

// `train --device gpu` and `infer --device gpu`. cuda/gpu_training.cpp and cuda/gpu_inference.cpp
// do the work in a build with CUDA; in a build without, no_cuda.cpp skips it with the reason.
std::vector<Record> measure_gpu_training(Context& context, const Params& params);
std::vector<Record> measure_gpu_inference(Context& context, const Params& params);

// Which GPU, and when it hangs.
std::vector<ParamDef> one_gpu_params();

}  // namespace cb
