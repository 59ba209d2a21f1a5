#include <variant>
#include "bench/gpu/measure.h"
#include "sys/cuda/cuda.h"

namespace cb {
namespace {
std::vector<Record> run(const char* name, const Params& params) {
  const auto found = cuda::devices();
  const auto* absent = std::get_if<cuda::Absent>(&found);
  if (absent == nullptr) throw Error("not yet");
  return {{.case_name = name, .params = params, .outcome = Skipped{absent->reason}}};
}
}  // namespace
std::vector<Record> measure_gpu_gemm(Context&, const Params& params) { return run("gemm", params); }
std::vector<Record> measure_gpu_bandwidth(Context&, const Params& p) { return run("bandwidth", p); }
std::vector<Record> measure_gpu_burn(Context&, const Params& params) { return run("burn", params); }
}  // namespace cb
