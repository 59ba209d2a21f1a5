// Matrix product on the GPUs by cuBLASLt, with the fastest of its algorithms for the shape.
// Counted: 2·M·N·K operations over the time between two CUDA events around the products; choosing
// the algorithm, filling and checking are not. docs/methods/gpu-gemm.md.
#include "bench/cases.h"
#include "bench/gpu/gemm_points.h"
#include "bench/gpu/measure.h"
#include "bench/harness/fault.h"

namespace cb {
namespace {

CaseInfo describe() {
  return {
      .name = "gemm",
      .device = "gpu",
      .summary = "matrix product on the GPUs by cuBLASLt's fastest algorithm, checked",
      .example = "clusterbench gemm --device gpu --dtype bf16,fp8_e4m3 --size 8192 --json g.json",
      .domain = "compute",
      .needs = {.gpu = true},
      .params =
          {{"device", ParamType::choice, "gpu", "where to multiply", {"gpu"}},
           {"dtype", ParamType::choice, "bf16", "types of A and B; sums are fp64, fp32 or int32",
            gpu_dtype_names(), true},
           {"size", ParamType::size, "8192", "M = N = K", {}, true, 128, 65536},
           {"m", ParamType::integer, "", "rows of A and C, instead of --size", {}, false, 16, 1e6},
           {"n", ParamType::integer, "", "columns of B and C", {}, false, 16, 1e6},
           {"k", ParamType::integer, "", "columns of A, rows of B", {}, false, 16, 1e6},
           {"search", ParamType::flag, "false", "find the fastest shape, then measure it"},
           {"one-at-a-time", ParamType::flag, "false",
            "each GPU while the others idle: a weak GPU stays weak, a shared power limit does not"},
           {"algorithms",
            ParamType::integer,
            "16",
            "of the library's heuristics to time",
            {},
            false,
            1,
            64},
           {"seed", ParamType::integer, "1", "of the data", {}, false, 0},
           {"warm-up",
            ParamType::duration,
            "5s",
            "at full load, so that the clock is steady",
            {},
            false,
            0,
            600},
           {"iterations", ParamType::integer, "", "exactly so many samples", {}, false, 1, 1000000},
           {"duration", ParamType::duration, "5s", "of sampling, at most", {}, false, 0.01},
           fault_param("changes an element of its first GPU's product, to prove that it is seen")},
      .metrics = {{"flops_per_second", "flops_per_second", Better::higher,
                   "of one GPU; all but int8"},
                  {"operations_per_second", "operations_per_second", Better::higher, "int8"},
                  {"share_of_spec", "share", Better::higher, "of the maker's dense peak"},
                  {"share_of_peak", "share", Better::higher, "of that peak at the clock measured"},
                  {"clock_hertz", "hertz", Better::higher, "of the SMs, under load"},
                  {"watts", "watts", Better::lower, "of the GPU, under load"},
                  {"flops_per_joule", "flops_per_joule", Better::higher,
                   "over the sampling; int8: OP"}},
      .checks = {"product", "gpu"},
      .fault = {.planted = said("fault.gpu_product"),
                .checks = {"product"},
                .brief = {{"iterations", {"1"}}, {"warm-up", {"0s"}}},
                .point_seconds = 5},
  };
}

}  // namespace

Case gemm_gpu_case() { return {describe(), measure_gpu_gemm, check_gemm_points, why_no_gpu}; }

}  // namespace cb
