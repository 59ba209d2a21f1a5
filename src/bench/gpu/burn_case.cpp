// The GPUs at full load for a time: matrix products by type, device memory, every SM by itself.
// Every result is compared to the last bit with that of the other GPUs of the same kind and run.
// docs/methods/gpu-burn.md.
#include "bench/cases.h"
#include "bench/gpu/burn_plan.h"
#include "bench/gpu/measure.h"
#include "bench/harness/shared_params.h"
#include "core/param_builder.h"

namespace cb {
namespace {

CaseInfo describe() {
  using namespace param;
  return {
      .name = "burn",
      .device = "gpu",
      .summary = "all GPUs at full load, every result compared to the last bit across GPUs",
      .example = "clusterbench burn --device gpu --phase bf16,hbm,sm --duration 10m --json b.json",
      .domain = "stability",
      .needs = {.gpu = true},
      .params =
          {device_param("gpu", "what to load"),
           choice("phase", burn_phase_names())
               .help("phases in this order; each gets an equal part of --duration")
               .by_default("bf16,fp64,hbm,sm,march")
               .list(),
           duration("duration")
               .help("duration of all phases together")
               .by_default("60s")
               .at_least(0.1),
           text("pulse").help(
               "HZ:DUTY, such as 2:0.5: load in pulses, all ranks together; else steady"),
           number("memory-share")
               .help("share of the free device memory to use")
               .by_default("0.9")
               .range(0.05, 0.97),
           size("size").help("M = N = K of the products").by_default("8192").range(128, 32768),
           seed_param("of the data"), text("golden").help("file of hashes that results must have"),
           text("write-golden").help("write the hashes that the majority has"),
           duration("hang-after")
               .help("a step that takes longer is a hang")
               .by_default("60s")
               .range(2, 3600),
           choice("inject-fault", {"none", "bitflip", "nan", "hang"})
               .help("a fault on the first GPU of rank 0, to prove that it is seen")
               .by_default("none")},
      .metrics = {{"flops_per_second", "flops_per_second", Better::higher,
                   "of product phases but int8"},
                  {"operations_per_second", "operations_per_second", Better::higher, "int8"},
                  {"bytes_per_second", "bytes_per_second", Better::higher, "of the hbm phase"},
                  {"passes_per_second", "count per second", Better::higher, "checked passes"},
                  {"pulse_hertz", "hertz", Better::higher, "pulses that were reached"},
                  {"pulse_duty", "share", Better::higher, "of the time under load, with --pulse"},
                  {"sustained_share", "share", Better::higher,
                   "rate of the last tenth over the best tenth"},
                  {"throttled_share", "share", Better::lower,
                   "of the time: slowed for heat, by the hardware or by the power brake"},
                  {"watts", "watts", Better::higher,
                   "of the GPU; its ceiling is the enforced limit"},
                  {"share_of_power_limit", "share", Better::higher, "of the enforced limit"},
                  {"clock_hertz", "hertz", Better::higher, "of the SMs"},
                  {"memory_clock_share", "share", Better::higher,
                   "of the highest clock of the device memory"},
                  {"temperature_celsius", "celsius", Better::lower, "of the GPU"}},
      .checks = {"result", "finite", "memory", "sm", "gpu", "hang"},
      .fault = {.planted = said("fault.gpu_bit"),
                .checks = {"result", "finite", "memory", "sm"},
                .brief = {{"duration", {"5s"}}},
                .point_seconds = 8},
  };
}

}  // namespace

Case burn_gpu_case() { return {describe(), measure_gpu_burn, check_burn_plan, why_no_gpu}; }

}  // namespace cb
