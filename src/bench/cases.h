#pragma once

#include "bench/case.h"

// One maker per file of src/bench/cases/; registry.cpp puts them in order.
namespace cb {

Case info_case();
Case mpi_case();
Case tcp_case();
Case locate_case();
Case burn_cpu_case();
Case fake_case();
Case gemm_cpu_case();
Case bandwidth_cpu_case();
Case io_case();

}  // namespace cb
