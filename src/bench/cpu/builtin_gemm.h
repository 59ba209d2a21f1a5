#pragma once

#include <string>

#include "bench/cpu/host_gemm.h"

namespace cb {

// C = A·B by our own blocked kernels, for all types and for hosts without any library. They are
// written to be correct; they reach only a part of a tuned library's rate.
void builtin_gemm(const GemmData& data, Team& team);

// The instruction set that it uses on this CPU: "avx512", "avx2", "baseline".
std::string builtin_gemm_isa();

}  // namespace cb
