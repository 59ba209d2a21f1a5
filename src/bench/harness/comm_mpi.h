#pragma once

#include <memory>

#include "bench/harness/comm.h"
#include "sys/mpi/mpi.h"

namespace cb {

// Collective over `whole`. The ranks of `whole` that call with the same colour, in the order of
// `key`. One process alone stays alone.
std::unique_ptr<Comm> part_of(const Comm& whole, int colour, int key);

// The same for what a case exchanges by itself. `whole` has joined MPI.
mpi::Communicator mpi_part_of(const Comm& whole, int colour, int key);

}  // namespace cb
