#pragma once

#include "sys/mpi/mpi.h"

namespace cb {

// Collective over `comm`. Seconds to add to this rank's monotonic clock to get that of the
// communicator's rank 0: from the round trip with the least delay of several (Cristian 1989), so it
// is known to half of that. The ranks take turns.
double clock_offset(MPI_Comm comm);

}  // namespace cb
