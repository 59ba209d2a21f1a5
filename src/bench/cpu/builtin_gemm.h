#pragma once

#include <string>

#include "bench/cpu/host_gemm.h"

namespace cb {

// C = A·B by our own blocked kernels, for all types and for hosts without any library. Correct
// first: it reaches a part of a tuned library's rate only.
void builtin_gemm(const GemmData& data, Team& team);

// Instruction set that it uses on this CPU: "avx512", "avx2", "baseline".
std::string builtin_gemm_isa();

}  // namespace cb
