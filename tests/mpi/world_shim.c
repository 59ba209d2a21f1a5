/* In front of libmpi. Of each MPI_Alltoall rank 0 appends to the file WORLD_SHIM whether its communicator is MPI_COMM_WORLD
 * itself. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int MPI_Alltoall(const void* from, int count, MPI_Datatype type, void* to, int many, MPI_Datatype other, MPI_Comm comm) {
  int rank, same;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_compare(comm, MPI_COMM_WORLD, &same);
  if (rank == 0) {
    FILE* out = fopen(getenv("WORLD_SHIM"), "a");
    fputs(same == MPI_IDENT ? "world\n" : "part\n", out);
    fclose(out);
  }
  return PMPI_Alltoall(from, count, type, to, many, other, comm);
}
