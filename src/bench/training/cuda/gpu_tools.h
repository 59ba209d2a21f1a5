#pragma once

#include <optional>
#include <string>
#include <variant>

#include "bench/collectives/nccl/comms.h"
#include "bench/gpu/cuda/session.h"
#include "sys/gpu/cuda/cublaslt.h"

namespace cb::training {

// What a rank that computes on one GPU needs of this machine; NCCL and the map are of several
// ranks.
struct GpuTools {
  GpuSession session;
  std::optional<cublaslt::Library> blas = {};
  std::optional<nccl::Library> nccl = {};
  std::string rank_map = {};
};

// Of several ranks each takes the GPUs of its own: --gpu chooses none of them.
void refuse_one_gpu_of_several(const Params& params, int ranks, Problems& problems);

// Collective. Or why GPUs or a library cannot be used, the same on all ranks. `subject`: for what
// is refused, thrown as UsageError on all ranks. `exchanges`: whether they need NCCL.
std::variant<GpuTools, Said> open_gpu_tools(Context& context, const Params& params,
                                            const char* subject, bool exchanges);

}  // namespace cb::training
