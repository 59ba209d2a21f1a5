#pragma once

#include <vector>

#include "bench/harness/case.h"

// The GPU cases' work. Built with CUDA it is in gpu/cuda/, without in gpu/no_cuda.cpp, where each
// ends as skipped with the reason.
namespace cb {

std::vector<Record> measure_gpu_gemm(Context& context, const Params& params);
std::vector<Record> measure_gpu_bandwidth(Context& context, const Params& params);
std::vector<Record> measure_gpu_burn(Context& context, const Params& params);
// Why CUDA cannot be used here; empty if it can.
Said why_no_gpu(const FsRoot& fs);

}  // namespace cb
