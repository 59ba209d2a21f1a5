/* In front of libmpi: what rank LOST_FROM sends of LOST_BYTES or more is never sent, and nobody is told: neither its end nor
   the other's ever does. */
#include <mpi.h>
#include <stdlib.h>

enum { kNobodySends = 9999 };

int MPI_Isend(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  int rank = -1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char *lost = getenv("LOST_FROM"), *least = getenv("LOST_BYTES");
  if (lost != NULL && least != NULL && rank == atoi(lost) && type == MPI_BYTE && count >= atoi(least))
    return PMPI_Irecv(NULL, 0, MPI_BYTE, to, kNobodySends, comm, request);
  return PMPI_Isend(from, count, type, to, tag, comm, request);
}
