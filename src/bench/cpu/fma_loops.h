#pragma once

#include <cstdint>
#include <vector>

#include "bench/cpu/host_gemm.h"

namespace cb {

// A loop of independent multiply-adds whose values stay in registers.
struct FmaLoop {
  const char* isa;                     // "avx512", "avx2", "neon", "avx512_vnni", …
  GemmType type;                       // type of the operands
  double operations;                   // floating-point or integer operations per iteration
  bool (*supported)();                 // true if this CPU can run it
  double (*run)(uint64_t iterations);  // the result only keeps the compiler from dropping the work
};

// Every loop of this architecture, widest first. None uses AMX tiles.
const std::vector<FmaLoop>& fma_loops();

// True if the CPU multiplies the type with an instruction set that no loop covers (AMX).
bool beyond_fma_loops(GemmType type);

// Runs `steps` dependent integer additions of two registers. Each takes one clock cycle on every
// x86-64 and AArch64 core (Agner Fog, Instruction tables; Arm Software Optimization Guides).
uint64_t dependent_additions(uint64_t steps);

}  // namespace cb
