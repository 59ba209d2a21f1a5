/* In front of libmpi: rank STUCK_RANK never comes back from its first MPI_Iallreduce of floats, which it does not begin. */
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int MPI_Iallreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  int rank = -1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char* stuck = getenv("STUCK_RANK");
  while (stuck != NULL && type == MPI_FLOAT && rank == atoi(stuck)) pause();
  return PMPI_Iallreduce(from, to, count, type, op, comm, request);
}
