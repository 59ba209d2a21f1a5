#include "bench/gpu/measure.h"

namespace cb {
namespace {

constexpr const char* kBuiltWithout =
    "this clusterbench was built without CUDA: configure it with -DCLUSTERBENCH_CUDA=ON where nvcc "
    "is found";

std::vector<Record> without_cuda(const char* name, const Params& params) {
  return {{.case_name = name, .params = params, .outcome = Skipped{kBuiltWithout}}};
}

}  // namespace

std::vector<Record> measure_gpu_gemm(Context&, const Params& params) {
  return without_cuda("gemm", params);
}
std::vector<Record> measure_gpu_bandwidth(Context&, const Params& params) {
  return without_cuda("bandwidth", params);
}
std::vector<Record> measure_gpu_burn(Context&, const Params& params) {
  return without_cuda("burn", params);
}
std::string why_no_gpu(const FsRoot&) { return kBuiltWithout; }

}  // namespace cb
