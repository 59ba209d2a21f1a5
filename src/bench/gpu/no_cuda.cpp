#include "bench/gpu/measure.h"

namespace cb {
namespace {

Said built_without() { return said("gpu.built_without"); }

std::vector<Record> without_cuda(const char* name, const Params& params) {
  return {{.case_name = name, .params = params, .outcome = Skipped{built_without()}}};
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
std::vector<Record> measure_gpu_overhead(Context&, const Params& params) {
  return without_cuda("gpu-overhead", params);
}
std::vector<Record> measure_gpu_lu(Context&, const Params& params) {
  return without_cuda("lu", params);
}
std::vector<Record> measure_gpu_cg(Context&, const Params& params) {
  return without_cuda("cg", params);
}
Said why_no_gpu(const FsRoot&) { return built_without(); }

}  // namespace cb
