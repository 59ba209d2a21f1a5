// The GPUs at full load for a time: matrix products by type, device memory, every SM by itself.
// Every result is compared to the last bit with that of the other GPUs of the same kind and run.
// docs/methods/gpu-burn.md.
#include "bench/cases.h"
#include "bench/gpu/burn_plan.h"
#include "bench/gpu/measure.h"

namespace cb {
namespace {

CaseInfo describe() {
  return {
      .name = "burn",
      .device = "gpu",
      .summary = "all GPUs at full load, every result compared to the last bit across GPUs",
      .example = "clusterbench burn --device gpu --phase bf16,hbm,sm --duration 10m --json b.json",
      .domain = "stability",
      .needs = {.gpu = true},
      .params =
          {{"device", ParamType::choice, "gpu", "what to load", {"gpu"}},
           {"phase", ParamType::choice, "bf16,fp64,hbm,sm,march",
            "what is done, in this order; --duration is shared out equally", burn_phase_names(),
            true},
           {"duration", ParamType::duration, "60s", "of all phases together", {}, false, 0.1},
           {"pulse", ParamType::text, "",
            "HZ:DUTY, such as 2:0.5: load in pulses, all ranks together; else steady"},
           {"memory-share",
            ParamType::number,
            "0.9",
            "of the free device memory that is used",
            {},
            false,
            0.05,
            0.97},
           {"size", ParamType::size, "8192", "M = N = K of the products", {}, false, 128, 32768},
           {"seed", ParamType::integer, "1", "of the data", {}, false, 0},
           {"golden", ParamType::text, "", "file of hashes that results must have"},
           {"write-golden", ParamType::text, "", "write the hashes that the majority has"},
           {"hang-after",
            ParamType::duration,
            "60s",
            "a step that takes longer is a hang",
            {},
            false,
            2,
            3600},
           {"inject-fault",
            ParamType::choice,
            "none",
            "a fault on the first GPU of rank 0, to prove that it is seen",
            {"none", "bitflip", "nan", "hang"}}},
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
