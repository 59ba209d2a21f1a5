#include "bench/collectives/nccl/device.h"
#include "bench/collectives/overlap.h"

namespace cb {

namespace nccl {

std::variant<Devices, Said> gpu_devices(Context&) { return said("gpu.built_without"); }

}  // namespace nccl

std::vector<Record> measure_overlap(Context&, const Params& params) {
  return {
      {.case_name = "overlap", .params = params, .outcome = Skipped{said("gpu.built_without")}}};
}

}  // namespace cb
