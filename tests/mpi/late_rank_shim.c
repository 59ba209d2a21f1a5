/* In front of libmpi: rank LATE_RANK begins what follows each call of LATE_AFTER, MPI_Alltoall or MPI_Barrier, 20 ms later
   than the others. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void be_late(const char* call) {
  int rank = -1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char *late = getenv("LATE_RANK"), *after = getenv("LATE_AFTER");
  if (late != NULL && after != NULL && rank == atoi(late) && strcmp(call, after) == 0) usleep(20000);
}

int MPI_Alltoall(const void* from, int count, MPI_Datatype type, void* to, int to_count, MPI_Datatype to_type, MPI_Comm comm) {
  const int result = PMPI_Alltoall(from, count, type, to, to_count, to_type, comm);
  be_late("MPI_Alltoall");
  return result;
}

int MPI_Barrier(MPI_Comm comm) {
  const int result = PMPI_Barrier(comm);
  be_late("MPI_Barrier");
  return result;
}
