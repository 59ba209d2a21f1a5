/* A plain loop: barrier, clock, call, clock. Linked to the MPI that is
 * compared, as a library that stands before it (ci/any-mpi.sh): the program under test opens it for
 * that MPI and finds all functions of it, but MPI_Init and MPI_Finalize measure the loop too, in
 * the same ranks, at the same places, before and after the program does. MPI_PLAIN is
 * "all_reduce|alltoall BYTES": all_reduce, float sums of BYTES; alltoall, BYTES in all from each
 * rank. To the file MPI_PLAIN_OUT rank 0 adds a line each time: the mean over the iterations,
 * without the 5 % at either end, of the slowest rank's time, in seconds, of two loops. Each is
 * measured for 30 ms at least, in 40 iterations at least, and warmed up for as long; before the
 * program for 150 ms more, since of a small call the first tens of thousands are slower than all
 * later. */
#define _GNU_SOURCE
#ifdef MPI_ABI
#include <mpi_abi.h>
#else
#include <mpi.h>
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* On memory as that of the program under test: fresh pages, huge ones for large data, since on
 * small ones an alltoall of 4 MiB takes up to a third longer, by where the kernel finds them. The
 * process ends soon: it is not given back. */
static float* ones(int bytes) {
  const size_t page = bytes >= 2 << 20 ? 2 << 20 : 4096;
  char* memory =
      mmap(NULL, (size_t)bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 2);
  memory += (page - (uintptr_t)memory % page) % page;
  if (page > 4096) madvise(memory, (size_t)bytes, MADV_HUGEPAGE);
  float* out = (float*)memory;
  for (size_t i = 0; i < (size_t)bytes / sizeof *out; ++i) out[i] = 1;
  return out;
}

struct call {
  int all_reduce, bytes, ranks;
  float *from, *to;
};

/* Seconds of each iteration go to `seconds`. Between two iterations it does nothing for `pause`. */
static void loop(const struct call* c, int iterations, double pause, double* seconds) {
  for (int i = 0; i < iterations; ++i) {
    const double until = MPI_Wtime() + pause;
    while (pause > 0 && MPI_Wtime() < until) {
    }
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
    loop(c, n, 0, times);
    double took = MPI_Wtime() - begin;
    free(times);
    MPI_Bcast(&took, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (took >= seconds || n > 1000000) return n;
  }
}

/* Of the slowest rank, on rank 0; another rank returns 0. The number of iterations is a multiple of
 * 20. */
static double middle_of(const struct call* c, int iterations, double pause) {
  double* mine = malloc((size_t)iterations * sizeof *mine);
  double* slowest = calloc((size_t)iterations, sizeof *slowest);
  loop(c, iterations, pause, mine);
  MPI_Reduce(mine, slowest, iterations, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  qsort(slowest, (size_t)iterations, sizeof *slowest, by_value);
  double sum = 0;
  const int low = iterations / 20, high = iterations - low;
  for (int i = low; i < high; ++i) sum += slowest[i];
  free(mine), free(slowest);
  return sum / (high - low);
}

/* Two loops: one that calls at once again, one that waits for as long as a program needs to keep a
 * sample. Which of them comes out of the barrier closer together depends on the MPI. */
static void measure(double warm_up_seconds) {
  char op[16];
  int rank, ranks, bytes;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  FILE* out = rank == 0 ? fopen(getenv("MPI_PLAIN_OUT"), "a") : NULL;
  if ((rank == 0 && out == NULL) || sscanf(getenv("MPI_PLAIN"), "%15s %d", op, &bytes) != 2)
    MPI_Abort(MPI_COMM_WORLD, 2);
  const struct call c = {strcmp(op, "all_reduce") == 0, bytes, ranks, ones(bytes), ones(bytes)};
  iterations_of(&c, warm_up_seconds);
  const int iterations = iterations_of(&c, 0.03);
  const double at_once = middle_of(&c, iterations, 0), later = middle_of(&c, iterations, 1e-7);
  if (out != NULL) fprintf(out, "%.9g %.9g\n", at_once, later), fclose(out);
}

int MPI_Init(int* argc, char*** argv) {
  const int result = PMPI_Init(argc, argv);
  if (result == MPI_SUCCESS) measure(0.15);
  return result;
}

int MPI_Finalize(void) {
  measure(0);
  return PMPI_Finalize();
}
