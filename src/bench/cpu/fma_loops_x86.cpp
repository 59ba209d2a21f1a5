// Register-resident multiply-adds for x86-64. Twelve accumulators cover the latency (4 to 5 cycles)
// times the units (2) of every core so far. The values converge, so nothing overflows or turns
// denormal.
#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

#include "bench/cpu/fma_loops.h"

namespace cb {
namespace {

constexpr int kChains = 12;

// Expands to straight code for each of the twelve accumulators: they are registers only as named
// variables.
#define CB_CHAINS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define CB_KEEP(i) asm volatile("" : "+x"(c##i));
#define CB_KEEP512(i) asm volatile("" : "+v"(c##i));

[[gnu::target("avx512f")]] double fp64_avx512(uint64_t n) {
  const __m512d x = _mm512_set1_pd(0.5), y = _mm512_set1_pd(0.25);
#define CB_X(i) __m512d c##i = _mm512_set1_pd(1 + i);
  CB_CHAINS(CB_X)
#undef CB_X
  for (uint64_t k = 0; k < n; ++k) {
#define CB_X(i) c##i = _mm512_fmadd_pd(c##i, x, y);
    CB_CHAINS(CB_X)
#undef CB_X
    CB_CHAINS(CB_KEEP512)
  }
  __m512d sum = c0;
#define CB_X(i) sum = _mm512_add_pd(sum, c##i);
  CB_CHAINS(CB_X)
#undef CB_X
  return sum[0];
}

[[gnu::target("avx512f")]] double fp32_avx512(uint64_t n) {
  const __m512 x = _mm512_set1_ps(0.5f), y = _mm512_set1_ps(0.25f);
#define CB_X(i) __m512 c##i = _mm512_set1_ps(1 + i);
  CB_CHAINS(CB_X)
#undef CB_X
  for (uint64_t k = 0; k < n; ++k) {
#define CB_X(i) c##i = _mm512_fmadd_ps(c##i, x, y);
    CB_CHAINS(CB_X)
#undef CB_X
    CB_CHAINS(CB_KEEP512)
  }
  __m512 sum = c0;
#define CB_X(i) sum = _mm512_add_ps(sum, c##i);
  CB_CHAINS(CB_X)
#undef CB_X
  return static_cast<double>(sum[0]);
}

[[gnu::target("avx512f,avx512bf16")]] double bf16_avx512(uint64_t n) {
  const __m512bh x = (__m512bh)_mm512_set1_epi16(0x3c00);
#define CB_X(i) __m512 c##i = _mm512_set1_ps(1 + i);
  CB_CHAINS(CB_X)
#undef CB_X
  for (uint64_t k = 0; k < n; ++k) {
#define CB_X(i) c##i = _mm512_dpbf16_ps(c##i, x, x);
    CB_CHAINS(CB_X)
#undef CB_X
    CB_CHAINS(CB_KEEP512)
  }
  __m512 sum = c0;
#define CB_X(i) sum = _mm512_add_ps(sum, c##i);
  CB_CHAINS(CB_X)
#undef CB_X
  return static_cast<double>(sum[0]);
}

[[gnu::target("avx512f,avx512vnni")]] double int8_avx512(uint64_t n) {
  const __m512i x = _mm512_set1_epi8(3);
#define CB_X(i) __m512i c##i = _mm512_set1_epi32(1 + i);
  CB_CHAINS(CB_X)
#undef CB_X
  for (uint64_t k = 0; k < n; ++k) {
#define CB_X(i) c##i = _mm512_dpbusd_epi32(c##i, x, x);
    CB_CHAINS(CB_X)
#undef CB_X
    CB_CHAINS(CB_KEEP512)
  }
  __m512i sum = c0;
#define CB_X(i) sum = _mm512_add_epi32(sum, c##i);
  CB_CHAINS(CB_X)
#undef CB_X
  return static_cast<double>(sum[0]);
}

[[gnu::target("avx2,fma")]] double fp64_avx2(uint64_t n) {
  const __m256d x = _mm256_set1_pd(0.5), y = _mm256_set1_pd(0.25);
#define CB_X(i) __m256d c##i = _mm256_set1_pd(1 + i);
  CB_CHAINS(CB_X)
#undef CB_X
  for (uint64_t k = 0; k < n; ++k) {
#define CB_X(i) c##i = _mm256_fmadd_pd(c##i, x, y);
    CB_CHAINS(CB_X)
#undef CB_X
    CB_CHAINS(CB_KEEP)
  }
  __m256d sum = c0;
#define CB_X(i) sum = _mm256_add_pd(sum, c##i);
  CB_CHAINS(CB_X)
#undef CB_X
  return sum[0] + sum[1] + sum[2] + sum[3];
}

[[gnu::target("avx2,fma")]] double fp32_avx2(uint64_t n) {
  const __m256 x = _mm256_set1_ps(0.5f), y = _mm256_set1_ps(0.25f);
#define CB_X(i) __m256 c##i = _mm256_set1_ps(1 + i);
  CB_CHAINS(CB_X)
#undef CB_X
  for (uint64_t k = 0; k < n; ++k) {
#define CB_X(i) c##i = _mm256_fmadd_ps(c##i, x, y);
    CB_CHAINS(CB_X)
#undef CB_X
    CB_CHAINS(CB_KEEP)
  }
  __m256 sum = c0;
#define CB_X(i) sum = _mm256_add_ps(sum, c##i);
  CB_CHAINS(CB_X)
#undef CB_X
  return static_cast<double>(sum[0] + sum[7]);
}

// Without FMA, multiplications and additions go to separate units, so half the chains do each.
double fp64_sse2(uint64_t n) {
  const __m128d x = _mm_set1_pd(1.0), y = _mm_set1_pd(0.0);
#define CB_X(i) __m128d c##i = _mm_set1_pd(1 + i);
  CB_CHAINS(CB_X)
#undef CB_X
  for (uint64_t k = 0; k < n; ++k) {
#define CB_X(i) c##i = i % 2 == 0 ? _mm_mul_pd(c##i, x) : _mm_add_pd(c##i, y);
    CB_CHAINS(CB_X)
#undef CB_X
    CB_CHAINS(CB_KEEP)
  }
  __m128d sum = c0;
#define CB_X(i) sum = _mm_add_pd(sum, c##i);
  CB_CHAINS(CB_X)
#undef CB_X
  return sum[0] + sum[1];
}

double fp32_sse2(uint64_t n) {
  const __m128 x = _mm_set1_ps(1.0f), y = _mm_set1_ps(0.0f);
#define CB_X(i) __m128 c##i = _mm_set1_ps(1 + i);
  CB_CHAINS(CB_X)
#undef CB_X
  for (uint64_t k = 0; k < n; ++k) {
#define CB_X(i) c##i = i % 2 == 0 ? _mm_mul_ps(c##i, x) : _mm_add_ps(c##i, y);
    CB_CHAINS(CB_X)
#undef CB_X
    CB_CHAINS(CB_KEEP)
  }
  __m128 sum = c0;
#define CB_X(i) sum = _mm_add_ps(sum, c##i);
  CB_CHAINS(CB_X)
#undef CB_X
  return static_cast<double>(sum[0] + sum[3]);
}

bool always() { return true; }
bool avx512() { return __builtin_cpu_supports("avx512f"); }
bool avx512_bf16() { return __builtin_cpu_supports("avx512bf16"); }
bool avx512_vnni() { return __builtin_cpu_supports("avx512vnni"); }
bool avx2_fma() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

// Bits of CPUID leaf 7, subleaf 0, EDX (Intel SDM vol. 2A, CPUID).
constexpr unsigned kAmxBf16 = 1u << 22;
constexpr unsigned kAmxInt8 = 1u << 25;

}  // namespace

// Operations: lanes × 2 for a multiply-add; vdpbf16ps has pairs (× 2), vpdpbusd groups of four (×
// 4).
const std::vector<FmaLoop>& fma_loops() {
  static const std::vector<FmaLoop> loops{
      {"avx512", GemmType::fp64, kChains * 8 * 2, avx512, fp64_avx512},
      {"avx2", GemmType::fp64, kChains * 4 * 2, avx2_fma, fp64_avx2},
      {"sse2", GemmType::fp64, kChains * 2, always, fp64_sse2},
      {"avx512", GemmType::fp32, kChains * 16 * 2, avx512, fp32_avx512},
      {"avx2", GemmType::fp32, kChains * 8 * 2, avx2_fma, fp32_avx2},
      {"sse2", GemmType::fp32, kChains * 4, always, fp32_sse2},
      {"avx512_bf16", GemmType::bf16, kChains * 16 * 2 * 2, avx512_bf16, bf16_avx512},
      {"avx512_vnni", GemmType::int8, kChains * 16 * 4 * 2, avx512_vnni, int8_avx512},
  };
  return loops;
}

bool beyond_fma_loops(GemmType type) {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  if (type == GemmType::bf16) return (edx & kAmxBf16) != 0;
  return type == GemmType::int8 && (edx & kAmxInt8) != 0;
}

uint64_t dependent_additions(uint64_t steps) {
  uint64_t value = steps | 1;
  const uint64_t one = value;
  // Adds two registers: some recent cores fold additions of a constant while they rename.
  for (uint64_t k = 0; k < steps / 16; ++k)
    asm volatile(
        "add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\t"
        "add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\t"
        "add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\t"
        "add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0"
        : "+r"(value)
        : "r"(one)
        : "cc");
  return value;
}

}  // namespace cb

#endif
