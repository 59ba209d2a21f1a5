// A product alone, a collective alone, and both at once: how much each slows the other, and how
// much of the collective a training step would not see. By the limit of the collective's thread
// blocks. docs/methods/overlap.md.
#include "bench/cases.h"
#include "bench/collectives/overlap.h"
#include "bench/gpu/gemm_points.h"
#include "bench/gpu/measure.h"
#include "bench/harness/fault.h"
#include "bench/harness/shared_params.h"
#include "core/param_builder.h"
#include "sys/gpu/nccl.h"

namespace cb {
namespace {

CaseInfo describe_overlap() {
  using namespace param;
  const auto lower = Better::lower;
  return {
      .name = "overlap",
      .device = "",
      .summary = "a product and a collective at once: how much each slows the other",
      .example = "mpirun -np 8 clusterbench overlap --max-ctas 0,8,16 --json o.json",
      .domain = "network",
      .needs = {.gpu = true},
      .params =
          {choice("dtype", gpu_dtype_names()).help("types of the product").by_default("bf16"),
           size("size").help("M = N = K of the product").by_default("8192").range(128, 65536),
           choice("op", {"all_reduce", "all_gather", "reduce_scatter", "alltoall"})
               .help("the collective, of float")
               .by_default("all_reduce")
               .list(),
           size("message").help("bytes of the collective").by_default("256M").at_least(1024),
           integer("max-ctas")
               .help("thread blocks that the library uses at most; 0: as many as it likes")
               .by_default("0")
               .range(0, 64)
               .list(),
           seed_param("of the product's data"),
           duration("warm-up").help("before sampling, at most").by_default("1s").range(0, 600),
           iterations_param(), sampling_param("5s"),
           duration("init-deadline")
               .help("time limit to make the communicators")
               .by_default("90s")
               .at_least(0.1),
           duration("wait-deadline")
               .help("time limit of a call; then the communicator is aborted")
               .by_default("60s")
               .at_least(0.1),
           fault_param("flips a bit of what it received, to prove that it is seen")},
      .metrics = {{"product_seconds", "seconds", lower, "of the products, alone"},
                  {"collective_seconds", "seconds", lower, "of the collectives, alone"},
                  {"both_seconds", "seconds", lower, "of both, begun at once"},
                  {"exposed_seconds", "seconds", lower, "both less the products alone"},
                  {"hidden_share", "share", Better::higher, "1 - (both - products) / collectives"},
                  {"product_slowdown", "ratio", lower,
                   "a GPU's products beside the collectives over alone"},
                  {"collective_slowdown", "ratio", lower,
                   "the collectives beside the products over alone"}},
      .checks = {"data", "product", "gpu"},
      .fault = {.planted = said("fault.overlap"),
                .checks = {"data"},
                .brief = {{"iterations", {"1"}}, {"warm-up", {"0s"}}},
                .point_seconds = 5},
      .label_params = {"max-ctas"},
  };
}

Said why_no_overlap(const FsRoot& fs) {
  if (Said reason = why_no_gpu(fs); !reason.empty()) return reason;
  const auto opened = nccl::Library::open();
  const auto* absent = std::get_if<Said>(&opened);
  return absent == nullptr ? Said() : *absent;
}

}  // namespace

Case overlap_case() { return {describe_overlap(), measure_overlap, {}, why_no_overlap}; }

}  // namespace cb
