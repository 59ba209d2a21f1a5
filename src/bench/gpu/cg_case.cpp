// Conjugate gradients with HPCG's operator and preconditioner on each GPU: what its memory gives to
// sparse problems. "HPCG-like": no figure for a list. Counted: HPCG's operations over the time of
// the iterations, by the device's clock; building the problem and checking are not.
// docs/methods/gpu-lu-cg.md.
#include <fmt/format.h>

#include "bench/cases.h"
#include "bench/gpu/measure.h"
#include "bench/harness/fault.h"
#include "bench/harness/shared_params.h"
#include "core/param_builder.h"

namespace cb {
namespace {

CaseInfo describe_cg() {
  using namespace param;
  return {
      .name = "cg",
      .device = "gpu",
      .summary = "sparse equations by conjugate gradients on each GPU, HPCG-like",
      .example = "clusterbench cg --device gpu --size 256 --json c.json",
      .domain = "memory",
      .needs = {.gpu = true},
      .params = {device_param("gpu", "where to solve"),
                 integer("size")
                     .help("points along each edge of a GPU's cube, a multiple of 8")
                     .by_default("256")
                     .range(16, 1024)
                     .list(),
                 integer("iterations").help("sets of 50 iterations").by_default("3").range(1, 1e6),
                 seed_param("of the vectors of the symmetry check"),
                 duration("hang-after")
                     .help("a wait for the GPU that takes longer is a hang")
                     .by_default("60s")
                     .range(1, 3600),
                 fault_param("changes an element of its first GPU's solution, to prove that it is "
                             "seen")},
      .metrics = {{"flops_per_second", "flops_per_second", Better::higher,
                   "HPCG's count over time"},
                  {"bytes_per_second", "bytes_per_second", Better::higher,
                   "bytes that an iteration moves at least, over time"},
                  {"time_seconds", "seconds", Better::lower, "of one iteration"},
                  {"clock_hertz", "hertz", Better::higher, "of the SMs, over the sets"},
                  {"watts", "watts", Better::lower, "of the GPU, over the sets"},
                  {"flops_per_joule", "flops_per_joule", Better::higher, "over the sets"}},
      .checks = {"symmetry", "convergence", "residual", "gpu"},
      .fault = {.planted = said("fault.solution"),
                .checks = {"residual"},
                .brief = {{"iterations", {"1"}}, {"size", {"32"}}},
                .point_seconds = 5},
  };
}

void check_cubes(const Params& params, Problems& problems) {
  for (const int64_t size : params.integers("size")) {
    if (size % 8 != 0) problems.add("--size", fmt::format("{} is no multiple of 8", size));
  }
}

}  // namespace

Case cg_gpu_case() { return {describe_cg(), measure_gpu_cg, check_cubes, why_no_gpu}; }

}  // namespace cb
