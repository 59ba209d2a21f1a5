#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/cpu/host_gemm.h"

namespace cb {

// The instruction sets of this CPU that our own products know, the widest first: "avx512", "avx2",
// "baseline".
std::vector<std::string> builtin_gemm_isas();

// C = A·B by our own blocked kernels for one of these sets, for all types and for hosts without any
// library. They are written to be correct; they reach only a part of a tuned library's rate.
void builtin_gemm(const GemmData& data, Team& team, std::string_view isa);

}  // namespace cb
