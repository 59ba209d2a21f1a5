/* In front of libmpi, for what is exchanged of floats. Rank STUCK_RANK never comes back from its first STUCK_CALL, MPI_Iallreduce or
 * MPI_Isend, which it does not begin. What the ranks of LOST_RANKS ("02") reduce goes on for ever. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int this_rank(void) {
  int rank = -1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

static void stick(const char* call, MPI_Datatype type) {
  const char* stuck = getenv("STUCK_RANK");
  while (stuck != NULL && type == MPI_FLOAT && this_rank() == atoi(stuck) && strcmp(call, getenv("STUCK_CALL")) == 0) pause();
}

int MPI_Iallreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  stick("MPI_Iallreduce", type);
  const char* lost = getenv("LOST_RANKS");
  if (lost != NULL && type == MPI_FLOAT && strchr(lost, '0' + this_rank()) != NULL)
    return PMPI_Irecv(to, count, type, this_rank(), 99, MPI_COMM_WORLD, request);
  return PMPI_Iallreduce(from, to, count, type, op, comm, request);
}

int MPI_Isend(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  stick("MPI_Isend", type);
  return PMPI_Isend(from, count, type, to, tag, comm, request);
}
