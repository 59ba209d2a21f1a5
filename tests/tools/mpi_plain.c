/* A plain loop as anyone would write it: barrier, clock, call, clock. Compiled with the mpicc of
 * the MPI that is compared (ci/any-mpi.sh). Prints for each point the median over iterations of the
 * slowest rank's time, in seconds. Each point is warmed up for 30 ms at least and measured as long,
 * in 40 iterations at least. mpirun -np 4 mpi_plain all_reduce|alltoall BYTES [all_reduce|alltoall
 * BYTES …] all_reduce: float sums of BYTES; alltoall: BYTES in all from each rank. */
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

struct call {
  int all_reduce, bytes, ranks;
  float *from, *to;
};

/* Seconds of each iteration go to `seconds`. */
static void loop(const struct call* c, int iterations, double* seconds) {
  for (int i = 0; i < iterations; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    if (c->all_reduce)
      MPI_Allreduce(c->from, c->to, c->bytes / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    else
      MPI_Alltoall(c->from, c->bytes / 4 / c->ranks, MPI_FLOAT, c->to, c->bytes / 4 / c->ranks,
                   MPI_FLOAT, MPI_COMM_WORLD);
    seconds[i] = MPI_Wtime() - begin;
  }
}

/* As many as take this long once they are warm: the first ones, in which the library connects, take
 * longer and count for nothing. */
static int iterations_of(const struct call* c, double seconds) {
  for (int n = 40;; n *= 2) {
    double* times = malloc((size_t)n * sizeof *times);
    const double begin = MPI_Wtime();
    loop(c, n, times);
    double took = MPI_Wtime() - begin;
    free(times);
    MPI_Bcast(&took, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (took >= seconds || n > 1000000) return n;
  }
}

static void point(int all_reduce, int bytes, int rank, int ranks) {
  const struct call c = {all_reduce, bytes, ranks, ones(bytes), ones(bytes)};
  const int iterations = iterations_of(&c, 0.03);
  double* mine = malloc((size_t)iterations * sizeof *mine);
  double* slowest = malloc((size_t)iterations * sizeof *slowest);
  loop(&c, iterations, mine);
  MPI_Reduce(mine, slowest, iterations, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    qsort(slowest, (size_t)iterations, sizeof *slowest, by_value);
    printf("%.9g\n", slowest[iterations / 2]);
  }
  free(c.from), free(c.to), free(mine), free(slowest);
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 3 || argc % 2 != 1) MPI_Abort(MPI_COMM_WORLD, 2);
  for (int i = 1; i < argc; i += 2)
    point(strcmp(argv[i], "all_reduce") == 0, atoi(argv[i + 1]), rank, ranks);
  MPI_Finalize();
  return 0;
}
