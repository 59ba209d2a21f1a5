// The burn's matrix product with AVX2 and FMA, which this file's compiler flags allow. This file
// compiles nothing but intrinsics: the linker could keep the AVX2 copy of an inline function of the
// standard library for the whole program.
#if defined(__x86_64__)
#include <immintrin.h>

#include "bench/cpu/burn/gemm_tile.h"

namespace cb {
namespace {

struct Avx2 {
  using Vector = __m256d;
  static constexpr size_t width = 4;
  static constexpr size_t rows = 4;
  static constexpr size_t vectors = 3;
  static Vector load(const double* p) { return _mm256_load_pd(p); }
  static void store(double* p, Vector v) { _mm256_store_pd(p, v); }
  static Vector broadcast(double x) { return _mm256_set1_pd(x); }
  static Vector fma(Vector x, Vector y, Vector z) { return _mm256_fmadd_pd(x, y, z); }
};

}  // namespace

void burn_gemm_avx2(const double* a, const double* b, double* c) { gemm_tiled<Avx2, 96>(a, b, c); }

}  // namespace cb
#endif
