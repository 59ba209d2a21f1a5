/* A plain loop as anyone would write it: barrier, clock, call, clock. Compiled with the mpicc of the MPI that is
 * compared (ci/any-mpi.sh). Prints for each point the median over iterations of the slowest rank's time, in seconds.
 *   mpirun -np 4 mpi_plain all_reduce|alltoall BYTES ITERATIONS [all_reduce|alltoall BYTES ITERATIONS …]
 * all_reduce: float sums of BYTES; alltoall: BYTES in all from each rank. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static float* ones(int bytes) {
  float* out = aligned_alloc(4096, (size_t)(bytes + 4095) / 4096 * 4096);
  for (size_t i = 0; i < (size_t)bytes / sizeof *out; ++i) out[i] = 1;
  return out;
}

static void point(int all_reduce, int bytes, int iterations, int rank, int ranks) {
  float *from = ones(bytes), *to = ones(bytes);
  double* mine = malloc((size_t)iterations * sizeof *mine);
  double* slowest = malloc((size_t)iterations * sizeof *slowest);
  for (int i = -iterations; i < iterations; ++i) { /* as many before, which warm up */
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
  free(from), free(to), free(mine), free(slowest);
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 4 || argc % 3 != 1) MPI_Abort(MPI_COMM_WORLD, 2);
  for (int i = 1; i < argc; i += 3)
    point(strcmp(argv[i], "all_reduce") == 0, atoi(argv[i + 1]), atoi(argv[i + 2]), rank, ranks);
  MPI_Finalize();
  return 0;
}
