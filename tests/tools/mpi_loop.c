// A plain loop around one MPI collective, for ci/compare-mpi.sh: barrier, clock, call, clock. Prints
// the median over the iterations of the largest time over the ranks, in seconds.
// Usage: mpi_loop OPERATION BYTES ITERATIONS
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 4) MPI_Abort(MPI_COMM_WORLD, 2);
  const char* op = argv[1];
  const size_t bytes = (size_t)atoll(argv[2]);
  const int iterations = atoi(argv[3]), warm_up = 20;
  const int count = (int)(bytes / sizeof(float)), block = count / size / 4 * 4;
  float* send = malloc(bytes);
  float* receive = malloc(bytes);
  double* seconds = malloc(sizeof(double) * (size_t)iterations);
  double* slowest = malloc(sizeof(double) * (size_t)iterations);
  for (int i = 0; i < count; ++i) send[i] = receive[i] = (float)(i % 7);
  for (int i = -warm_up; i < iterations; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = now();
    if (!strcmp(op, "all_reduce"))
      MPI_Allreduce(send, receive, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    else if (!strcmp(op, "all_gather"))
      MPI_Allgather(send, block, MPI_FLOAT, receive, block, MPI_FLOAT, MPI_COMM_WORLD);
    else if (!strcmp(op, "alltoall"))
      MPI_Alltoall(send, block, MPI_FLOAT, receive, block, MPI_FLOAT, MPI_COMM_WORLD);
    else
      MPI_Abort(MPI_COMM_WORLD, 2);
    if (i >= 0) seconds[i] = now() - start;
  }
  MPI_Reduce(seconds, slowest, iterations, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    qsort(slowest, (size_t)iterations, sizeof(double), ascending);
    printf("%.9g\n", slowest[iterations / 2]);
  }
  MPI_Finalize();
  return 0;
}
