// STREAM's kernels for x86-64, with stores through the caches and past them. Vectors have at most
// 256 bits; wider ones gain nothing on memory.
#if defined(__x86_64__)

#include <immintrin.h>

#include "bench/cpu/stream_kernels.h"

namespace cb {
namespace {

// Marks a function that uses AVX2 and FMA. Callers check avx2() first.
#define CB_AVX2 [[gnu::target("avx2,fma")]]

template <StreamOp op>
CB_AVX2 inline __m256d element(const double* a, const double* b, const double* c, size_t i) {
  const __m256d s = _mm256_set1_pd(kStreamScalar);
  if constexpr (op == StreamOp::copy) return _mm256_load_pd(a + i);
  if constexpr (op == StreamOp::scale) return _mm256_mul_pd(s, _mm256_load_pd(c + i));
  if constexpr (op == StreamOp::add)
    return _mm256_add_pd(_mm256_load_pd(a + i), _mm256_load_pd(b + i));
  if constexpr (op == StreamOp::triad)
    return _mm256_add_pd(_mm256_load_pd(b + i), _mm256_mul_pd(s, _mm256_load_pd(c + i)));
}

template <StreamOp op>
double* destination(const StreamArrays& x) {
  return op == StreamOp::triad ? x.a : op == StreamOp::scale ? x.b : x.c;
}

template <StreamOp op>
void finish(const StreamArrays& x, size_t from) {
  for (size_t i = from; i < x.count; ++i) {
    StreamValues v{x.a[i], x.b[i], x.c[i]};
    apply(op, v);
    destination<op>(x)[i] = op == StreamOp::triad ? v.a : op == StreamOp::scale ? v.b : v.c;
  }
}

template <StreamOp op, bool streaming>
CB_AVX2 void run_avx2(const StreamArrays& x) {
  double* const to = destination<op>(x);
  const size_t whole = x.count / 8 * 8;
  for (size_t i = 0; i < whole; i += 8) {
    const __m256d low = element<op>(x.a, x.b, x.c, i);
    const __m256d high = element<op>(x.a, x.b, x.c, i + 4);
    if constexpr (streaming) {
      _mm256_stream_pd(to + i, low);
      _mm256_stream_pd(to + i + 4, high);
    } else {
      _mm256_store_pd(to + i, low);
      _mm256_store_pd(to + i + 4, high);
    }
  }
  _mm_sfence();
  finish<op>(x, whole);
}

template <StreamOp op>
inline __m128d pair(const double* a, const double* b, const double* c, size_t i) {
  const __m128d s = _mm_set1_pd(kStreamScalar);
  if constexpr (op == StreamOp::copy) return _mm_load_pd(a + i);
  if constexpr (op == StreamOp::scale) return _mm_mul_pd(s, _mm_load_pd(c + i));
  if constexpr (op == StreamOp::add) return _mm_add_pd(_mm_load_pd(a + i), _mm_load_pd(b + i));
  if constexpr (op == StreamOp::triad)
    return _mm_add_pd(_mm_load_pd(b + i), _mm_mul_pd(s, _mm_load_pd(c + i)));
}

template <StreamOp op, bool streaming>
void run_sse2(const StreamArrays& x) {
  double* const to = destination<op>(x);
  const size_t whole = x.count / 8 * 8;
  for (size_t i = 0; i < whole; i += 2) {
    const __m128d v = pair<op>(x.a, x.b, x.c, i);
    if constexpr (streaming) {
      _mm_stream_pd(to + i, v);
    } else {
      _mm_store_pd(to + i, v);
    }
  }
  _mm_sfence();
  finish<op>(x, whole);
}

template <bool streaming>
void dispatch_avx2(StreamOp op, const StreamArrays& x) {
  switch (op) {
    case StreamOp::copy:
      return run_avx2<StreamOp::copy, streaming>(x);
    case StreamOp::scale:
      return run_avx2<StreamOp::scale, streaming>(x);
    case StreamOp::add:
      return run_avx2<StreamOp::add, streaming>(x);
    case StreamOp::triad:
      return run_avx2<StreamOp::triad, streaming>(x);
  }
}

template <bool streaming>
void dispatch_sse2(StreamOp op, const StreamArrays& x) {
  switch (op) {
    case StreamOp::copy:
      return run_sse2<StreamOp::copy, streaming>(x);
    case StreamOp::scale:
      return run_sse2<StreamOp::scale, streaming>(x);
    case StreamOp::add:
      return run_sse2<StreamOp::add, streaming>(x);
    case StreamOp::triad:
      return run_sse2<StreamOp::triad, streaming>(x);
  }
}

bool always_variant() { return true; }
bool avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

}  // namespace

const std::vector<StreamVariant>& stream_variants() {
  static const std::vector<StreamVariant> variants{
      {"regular", "avx2", avx2, dispatch_avx2<false>},
      {"regular", "sse2", always_variant, dispatch_sse2<false>},
      {"streaming", "avx2", avx2, dispatch_avx2<true>},
      {"streaming", "sse2", always_variant, dispatch_sse2<true>},
  };
  return variants;
}

}  // namespace cb

#endif
