#pragma once

#include <vector>

#include "bench/harness/comm.h"
#include "core/result.h"

namespace cb {

// A document with tool, run and environment filled in: NCCL_, UCX_, OMPI_MCA_, CUDA_ and OMP_ names
// only.
Document begin_document(const RankMap& place, int ranks, bool redact);

// Collective. The inventory of every host, by first rank: on rank 0, elsewhere none.
std::vector<HostInventory> gather_inventories(Comm& comm, const RankMap& place,
                                              const HostInventory& mine);

}  // namespace cb
