/* In front of libmpi: rank STUCK_RANK never comes back from its first STUCK_CALL of floats, MPI_Iallreduce or MPI_Isend, which it does not
 * begin. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void stick(const char* call, MPI_Datatype type) {
  int rank = -1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  while (type == MPI_FLOAT && rank == atoi(getenv("STUCK_RANK")) && strcmp(call, getenv("STUCK_CALL")) == 0) pause();
}

int MPI_Iallreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  stick("MPI_Iallreduce", type);
  return PMPI_Iallreduce(from, to, count, type, op, comm, request);
}

int MPI_Isend(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  stick("MPI_Isend", type);
  return PMPI_Isend(from, count, type, to, tag, comm, request);
}
