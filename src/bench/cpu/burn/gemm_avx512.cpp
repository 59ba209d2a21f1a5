// The burn's matrix product with AVX-512, which this file's compiler flags allow. This file
// compiles nothing but intrinsics, see gemm_avx2.cpp.
#if defined(__x86_64__)
#include <immintrin.h>

#include "bench/cpu/burn/gemm_tile.h"

namespace cb {
namespace {

struct Avx512 {
  using Vector = __m512d;
  static constexpr size_t width = 8;
  static constexpr size_t rows = 8;
  static constexpr size_t vectors = 3;
  static Vector load(const double* p) { return _mm512_load_pd(p); }
  static void store(double* p, Vector v) { _mm512_store_pd(p, v); }
  static Vector broadcast(double x) { return _mm512_set1_pd(x); }
  static Vector fma(Vector x, Vector y, Vector z) { return _mm512_fmadd_pd(x, y, z); }
};

}  // namespace

void burn_gemm_avx512(const double* a, const double* b, double* c) {
  gemm_tiled<Avx512, 96>(a, b, c);
}

}  // namespace cb
#endif
