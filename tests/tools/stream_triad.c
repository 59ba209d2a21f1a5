/* Reference for ci/compare-stream.sh: the triad a = b + s*c by STREAM's published rules
 * (www.cs.virginia.edu/stream): three arrays of doubles, touched first by the threads that use
 * them, NTIMES passes of which the first does not count, 24 bytes an element.
 * Usage: stream_triad ELEMENTS NTIMES; prints the best and the median rate in bytes per second. */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static int ascending(const void* x, const void* y) {
  const double a = *(const double*)x, b = *(const double*)y;
  return (a > b) - (a < b);
}

static double* array(size_t count) {
  const size_t page = (size_t)2 << 20;
  const size_t bytes = (count * sizeof(double) + page - 1) / page * page;
  double* p = aligned_alloc(page, bytes);
  if (p == NULL) exit(4);
  madvise(p, bytes, MADV_HUGEPAGE);
  return p;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const size_t count = strtoull(argv[1], NULL, 10);
  const int ntimes = atoi(argv[2]);
  if (count == 0 || ntimes < 2) return 2;
  double* restrict a = array(count);
  double* restrict b = array(count);
  double* restrict c = array(count);
  double* seconds = calloc((size_t)ntimes, sizeof(double));
  if (seconds == NULL) return 4;
  const double s = 3.0;
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < count; ++i) {
    a[i] = 1.0;
    b[i] = 2.0;
    c[i] = 0.5;
  }
  for (int k = 0; k < ntimes; ++k) {
    const double start = omp_get_wtime();
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < count; ++i) a[i] = b[i] + s * c[i];
    seconds[k] = omp_get_wtime() - start;
  }
  for (size_t i = 0; i < count; ++i) {
    if (fabs(a[i] - 3.5) > 3.5e-13) return 1;
  }
  qsort(seconds + 1, (size_t)ntimes - 1, sizeof(double), ascending);
  const double bytes = 24.0 * (double)count;
  printf("%.6e %.6e\n", bytes / seconds[1], bytes / seconds[1 + (ntimes - 1) / 2]);
  return 0;
}
