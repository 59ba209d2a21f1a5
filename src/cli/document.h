#pragma once

#include <string>

#include "bench/harness/comm.h"
#include "core/result.h"

namespace cb {

// A document with tool, run and environment filled in: NCCL_, UCX_, OMPI_MCA_, CUDA_ and OMP_ names
// only.
Document begin_document(const Place& place, int ranks, bool redact);

std::string pack_inventory(const HostInventory& inventory);
HostInventory unpack_inventory(const std::string& blob);

}  // namespace cb
