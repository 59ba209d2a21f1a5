/* A plain loop as anyone would write it: barrier, clock, call, clock. Compiled with the mpicc of the MPI that is
 * compared (ci/any-mpi.sh). Prints the median over iterations of the slowest rank's time, in seconds.
 *   mpirun -np 4 mpi_plain all_reduce|alltoall BYTES ITERATIONS
 * all_reduce: float sums of BYTES; alltoall: BYTES in all from each rank. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 4) MPI_Abort(MPI_COMM_WORLD, 2);
  const int all_reduce = strcmp(argv[1], "all_reduce") == 0;
  const int bytes = atoi(argv[2]), iterations = atoi(argv[3]);
  float* from = aligned_alloc(4096, (size_t)(bytes + 4095) / 4096 * 4096);
  float* to = aligned_alloc(4096, (size_t)(bytes + 4095) / 4096 * 4096);
  double* mine = malloc((size_t)iterations * sizeof *mine);
  double* slowest = malloc((size_t)iterations * sizeof *slowest);
  for (size_t i = 0; i < (size_t)bytes / sizeof *from; ++i) from[i] = 1, to[i] = 0;
  for (int i = -5; i < iterations; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    if (all_reduce)
      MPI_Allreduce(from, to, bytes / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    else
      MPI_Alltoall(from, bytes / 4 / ranks, MPI_FLOAT, to, bytes / 4 / ranks, MPI_FLOAT, MPI_COMM_WORLD);
    if (i >= 0) mine[i] = MPI_Wtime() - begin;
  }
  MPI_Reduce(mine, slowest, iterations, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    qsort(slowest, (size_t)iterations, sizeof *slowest, by_value);
    printf("%.9g\n", slowest[iterations / 2]);
  }
  MPI_Finalize();
  return 0;
}
