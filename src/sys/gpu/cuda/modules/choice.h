// The CUDA module that this process works with.
#pragma once

#include "kernels/module_table.h"

namespace cb::cuda {

// The table of the module that the GPU cases work with; null if none can be used, for which
// module_in_use() has the reason.
const kernels::CudaTable* table_in_use();

}  // namespace cb::cuda
