#pragma once

#include <vector>

#include "bench/harness/case.h"

// The work of the GPU cases. gpu/cuda/ does it in a build with CUDA. In a build without,
// gpu/no_cuda.cpp skips each case with the reason.
namespace cb {

std::vector<Record> measure_gpu_gemm(Context& context, const Params& params);
std::vector<Record> measure_gpu_bandwidth(Context& context, const Params& params);
std::vector<Record> measure_gpu_burn(Context& context, const Params& params);
std::vector<Record> measure_gpu_overhead(Context& context, const Params& params);
std::vector<Record> measure_gpu_cg(Context& context, const Params& params);
std::vector<Record> measure_gpu_lu(Context& context, const Params& params);
// The reason why CUDA cannot be used here; empty if it can.
Said why_no_gpu(const FsRoot& fs);

}  // namespace cb
