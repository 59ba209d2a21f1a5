#pragma once

#include "bench/case.h"

// One maker per file of src/bench/cases/; registry.cpp puts them in order.
namespace cb {

Case info_case();
Case mpi_case();
Case burn_cpu_case();
Case fake_case();

}  // namespace cb
