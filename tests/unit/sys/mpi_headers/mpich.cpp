#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include "constants.h"

std::span<const HeaderConstant> mpich_header() {
  static const HeaderConstant constants[] = {CB_MPI_CONSTANTS};
  return constants;
}
