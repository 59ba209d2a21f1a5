#pragma once

#include "sys/mpi/mpi.h"

namespace cb {

// Collective over `comm`. Returns the seconds to add to this rank's monotonic clock to get the
// clock of the communicator's rank 0. Of several round trips, the one with the least delay decides
// (Cristian 1989); the error is at most half of that delay. The ranks take turns.
double clock_offset(MPI_Comm comm);

}  // namespace cb
