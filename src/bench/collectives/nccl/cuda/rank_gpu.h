#pragma once

#include <string>
#include <variant>

#include "bench/collectives/nccl/device.h"
#include "bench/gpu/cuda/session.h"
#include "sys/gpu/nccl.h"

namespace cb::nccl {

// One GPU of this rank, and the library between the GPUs of the ranks.
struct RankGpu {
  GpuSession session;  // has this GPU alone
  Library library;
  std::string map;  // of all ranks

  const GpuUnit& unit() const { return session.units().front(); }
  void describe(Record& record) const;
};

// Collective. The first of the GPUs that fall to a rank; or the reason why there are none, the same
// on all ranks. Throws UsageError where a rank has no GPU.
std::variant<RankGpu, Said> open_rank_gpu(Context& context, const std::string& subject);

// The unit's GPU, which is selected. After so many seconds a buffer of it hangs.
Devices gpu_alone(const GpuUnit& unit, double hang_after);

// "node03:1 (GPU-5a3c…): dispatch: …; next: …"
Said gpu_failure(const GpuUnit& unit, const char* what, const std::exception& e);
// The same of what the library tells, which may be another rank's fault.
Said exchange_failure(const GpuUnit& unit, const char* what, const std::exception& e);

}  // namespace cb::nccl
