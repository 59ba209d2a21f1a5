#pragma once

#include <string>
#include <vector>

namespace cb {

// Values of OPENBLAS_CORETYPE whose kernels this CPU can execute, judged by its feature bits. The
// list is short on purpose: one name for each distinct set of kernels for fp64 and fp32.
std::vector<std::string> openblas_cores();

}  // namespace cb
