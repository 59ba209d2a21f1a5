#include "sys/gpu/nvtx.h"

#include <nvtx3/nvToolsExt.h>

namespace cb::nvtx {

Range::Range(const std::string& name) { nvtxRangePushA(name.c_str()); }
Range::~Range() { nvtxRangePop(); }

}  // namespace cb::nvtx
