// A dense system of equations by LU with row pivoting on each GPU, in fp64: products by cuBLASLt,
// the rest by own kernels. "HPL-like": no figure for a list. Counted: HPL's operations over the
// time of factoring and solving, by the device's clock; making the matrix and checking are not.
// docs/methods/gpu-lu-cg.md.
#include <fmt/format.h>

#include "bench/cases.h"
#include "bench/gpu/measure.h"
#include "bench/harness/fault.h"
#include "bench/harness/shared_params.h"
#include "core/param_builder.h"

namespace cb {
namespace {

CaseInfo describe_lu() {
  using namespace param;
  return {
      .name = "lu",
      .device = "gpu",
      .summary = "dense equations by LU on each GPU in fp64, HPL-like, with HPL's residual",
      .example = "clusterbench lu --device gpu --json l.json",
      .domain = "compute",
      .needs = {.gpu = true},
      .params = {device_param("gpu", "where to solve"),
                 integer("size")
                     .help("order n of each GPU's matrix; absent: the largest that fits into the "
                           "free memory of every GPU")
                     .range(1, 1 << 20)
                     .list(),
                 integer("block")
                     .help("columns of a panel, a multiple of 16; absent: by the order")
                     .range(16, 1024),
                 seed_param("of the data"),
                 integer("iterations").help("solutions").by_default("3").range(1, 1e6),
                 duration("hang-after")
                     .help("a wait for the GPU that takes longer is a hang")
                     .by_default("60s")
                     .range(1, 3600),
                 fault_param("changes an element of its first GPU's solution, to prove that it is "
                             "seen")},
      .metrics = {{"flops_per_second", "flops_per_second", Better::higher, "HPL's count over time"},
                  {"time_seconds", "seconds", Better::lower, "factoring and solving"},
                  {"share_of_gemm", "share", Better::higher,
                   "of the rate at which the same GPU computes the products of the update"},
                  {"share_of_spec", "share", Better::higher, "of the maker's peak of fp64"},
                  {"clock_hertz", "hertz", Better::higher, "of the SMs, over the solutions"},
                  {"watts", "watts", Better::lower, "of the GPU, over the solutions"},
                  {"flops_per_joule", "flops_per_joule", Better::higher, "over the solutions"}},
      .checks = {"residual", "gpu"},
      .fault = {.planted = said("fault.solution"),
                .checks = {"residual"},
                .brief = {{"iterations", {"1"}}, {"size", {"4000"}}},
                .point_seconds = 5},
      .fact_columns = {"library"},
  };
}

// Else the parts of the matrix begin where the library's fast ways for fp64 cannot read.
void check_block(const Params& params, Problems& problems) {
  if (params.has("block") && params.integer("block") % 16 != 0)
    problems.add("--block", fmt::format("{} is no multiple of 16", params.integer("block")));
}

}  // namespace

Case lu_gpu_case() { return {describe_lu(), measure_gpu_lu, check_block, why_no_gpu}; }

}  // namespace cb
