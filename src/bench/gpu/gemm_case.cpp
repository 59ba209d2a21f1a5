// Matrix product on the GPUs by cuBLASLt, with the fastest of its algorithms for the shape.
// Counted: 2·M·N·K operations over the time between two CUDA events around the products; choosing
// the algorithm, filling and checking are not. docs/methods/gpu-gemm.md.
#include "bench/cases.h"
#include "bench/gpu/gemm_points.h"
#include "bench/gpu/measure.h"
#include "bench/harness/fault.h"
#include "bench/harness/shared_params.h"
#include "core/param_builder.h"

namespace cb {
namespace {

CaseInfo describe() {
  using namespace param;
  return {
      .name = "gemm",
      .device = "gpu",
      .summary = "matrix product on the GPUs by cuBLASLt's fastest algorithm, checked",
      .example = "clusterbench gemm --device gpu --dtype bf16,fp8_e4m3 --size 8192 --json g.json",
      .domain = "compute",
      .needs = {.gpu = true},
      .params = joined(
          {{device_param("gpu", "where to multiply"),
            choice("dtype", gpu_dtype_names())
                .help("types of A and B; sums are fp64, fp32 or int32")
                .by_default("bf16")
                .list(),
            size("size").help("M = N = K").by_default("8192").range(128, 65536).list()},
           edge_params(16),
           {flag("search").help("find the fastest shape, then measure it"),
            flag("one-at-a-time")
                .help("each GPU while the others idle: a weak GPU stays weak, a shared power "
                      "limit does not"),
            integer("algorithms")
                .help("number of algorithms that the library proposes and we time")
                .by_default("16")
                .range(1, 64),
            seed_param("of the data"),
            duration("warm-up")
                .help("at full load, so that the clock is steady")
                .by_default("5s")
                .range(0, 600),
            iterations_param(), sampling_param("5s"),
            fault_param(
                "changes an element of its first GPU's product, to prove that it is seen")}}),
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
