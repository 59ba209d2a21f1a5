#pragma once

#include <functional>

#include "sys/mpi/api.h"

// The constants of the three binary interfaces. tests/unit/sys/mpi_abi_test.cpp compares them with
// the headers of Open MPI and of MPICH.
namespace cb::mpi {

// MPICH 3.1 and later, Intel MPI, MVAPICH, Cray: handles are 32-bit numbers, stored here in
// pointers (MPICH ABI Compatibility Initiative).
Constants mpich_constants();

// MPI 5.0, appendix A.
Constants standard_constants();

// Open MPI 3 to 5: the addresses of its objects. `symbol` finds them by name and returns null if
// there is none.
Constants open_mpi_constants(const std::function<void*(const char*)>& symbol);

}  // namespace cb::mpi
