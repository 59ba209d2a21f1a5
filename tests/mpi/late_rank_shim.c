/* In front of libmpi: rank LATE_RANK begins what follows each MPI_Alltoall 20 ms later than the others. */
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int MPI_Alltoall(const void* from, int count, MPI_Datatype type, void* to, int to_count,
                 MPI_Datatype to_type, MPI_Comm comm) {
  const int result = PMPI_Alltoall(from, count, type, to, to_count, to_type, comm);
  int rank = -1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char* late = getenv("LATE_RANK");
  if (late != NULL && rank == atoi(late)) usleep(20000);
  return result;
}
