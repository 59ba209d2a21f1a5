#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include "constants.h"

std::span<const HeaderConstant> open_mpi_header() {
  // The objects' addresses are the loader's business: only the text of the macros is read.
#define CB_MPI_TEXT_ONLY(name) HeaderConstant{#name, CB_TEXT_OF_VALUE(name), 0},
#undef CB_MPI_CONSTANT
#define CB_MPI_CONSTANT CB_MPI_TEXT_ONLY
  static const HeaderConstant constants[] = {CB_MPI_CONSTANTS};
  return constants;
}
