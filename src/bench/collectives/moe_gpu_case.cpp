// Dispatch and combine of moe_case.cpp on GPUs, one a rank: own kernels find the tokens' places,
// pack and add, and NCCL exchanges. By the clock of the GPU. docs/methods/moe.md.
#include "bench/cases.h"
#include "bench/collectives/moe/gpu_moe.h"
#include "bench/collectives/moe/measure.h"
#include "bench/gpu/measure.h"
#include "bench/harness/shared_params.h"
#include "sys/gpu/nccl.h"

namespace cb {
namespace {

ParamDef hang_after_param() {
  return param::duration("hang-after")
      .help("a wait for the GPU, or for the GPUs of other ranks, that takes longer is a hang")
      .by_default("60s")
      .range(1, 3600);
}

CaseInfo describe_gpu_moe() {
  CaseInfo out = moe::moe_info();
  out.device = "gpu";
  out.summary = "dispatch and combine of a mixture of experts on GPUs, one a rank, over NCCL";
  out.example = "mpirun -np 16 clusterbench moe --device gpu --batch 128,4096 --json m.json";
  out.needs.gpu = true;
  out.params = joined(
      {{device_param("gpu", "where the tokens lie")}, moe::moe_params(), {hang_after_param()}});
  return out;
}

Said why_no_gpu_moe(const FsRoot& fs) {
  if (Said reason = why_no_gpu(fs); !reason.empty()) return reason;
  const auto opened = nccl::Library::open();
  const auto* absent = std::get_if<Said>(&opened);
  return absent == nullptr ? Said() : *absent;
}

}  // namespace

Case moe_gpu_case() {
  return {describe_gpu_moe(), measure_gpu_moe, moe::check_moe, why_no_gpu_moe};
}

}  // namespace cb
