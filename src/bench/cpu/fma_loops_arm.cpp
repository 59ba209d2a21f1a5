// Register-resident multiply-adds for AArch64, with the vector unit that every such CPU has.
// Sixteen accumulators keep four units of four cycles busy.
#if defined(__aarch64__)

#include <arm_neon.h>

#include "bench/cpu/fma_loops.h"

namespace cb {
namespace {

constexpr int kChains = 16;

// Expands to straight code for each accumulator: they are registers only as named variables.
#define CB_CHAINS(X) \
  X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define CB_KEEP(i) asm volatile("" : "+w"(c##i));

double fp64_neon(uint64_t n) {
  const float64x2_t x = vdupq_n_f64(0.5), y = vdupq_n_f64(0.25);
#define CB_X(i) float64x2_t c##i = vdupq_n_f64(1 + i);
  CB_CHAINS(CB_X)
#undef CB_X
  for (uint64_t k = 0; k < n; ++k) {
#define CB_X(i) c##i = vfmaq_f64(c##i, x, y);
    CB_CHAINS(CB_X)
#undef CB_X
    CB_CHAINS(CB_KEEP)
  }
  double sum = 0;
#define CB_X(i) sum += vaddvq_f64(c##i);
  CB_CHAINS(CB_X)
#undef CB_X
  return sum;
}

double fp32_neon(uint64_t n) {
  const float32x4_t x = vdupq_n_f32(0.5f), y = vdupq_n_f32(0.25f);
#define CB_X(i) float32x4_t c##i = vdupq_n_f32(1 + i);
  CB_CHAINS(CB_X)
#undef CB_X
  for (uint64_t k = 0; k < n; ++k) {
#define CB_X(i) c##i = vfmaq_f32(c##i, x, y);
    CB_CHAINS(CB_X)
#undef CB_X
    CB_CHAINS(CB_KEEP)
  }
  double sum = 0;
#define CB_X(i) sum += static_cast<double>(vaddvq_f32(c##i));
  CB_CHAINS(CB_X)
#undef CB_X
  return sum;
}

bool always() { return true; }

}  // namespace

const std::vector<FmaLoop>& fma_loops() {
  static const std::vector<FmaLoop> loops{
      {"neon", GemmType::fp64, kChains * 2 * 2, always, fp64_neon},
      {"neon", GemmType::fp32, kChains * 4 * 2, always, fp32_neon},
  };
  return loops;
}

// No loop covers bf16 and int8. For the other types SVE wider than 128 bits may beat these loops.
bool beyond_fma_loops(GemmType type) { return type == GemmType::bf16 || type == GemmType::int8; }

uint64_t dependent_additions(uint64_t steps) {
  uint64_t value = steps | 1;
  const uint64_t one = value;
  for (uint64_t k = 0; k < steps / 16; ++k)
    asm volatile(
        "add %0, %0, %1\n\tadd %0, %0, %1\n\tadd %0, %0, %1\n\tadd %0, %0, %1\n\t"
        "add %0, %0, %1\n\tadd %0, %0, %1\n\tadd %0, %0, %1\n\tadd %0, %0, %1\n\t"
        "add %0, %0, %1\n\tadd %0, %0, %1\n\tadd %0, %0, %1\n\tadd %0, %0, %1\n\t"
        "add %0, %0, %1\n\tadd %0, %0, %1\n\tadd %0, %0, %1\n\tadd %0, %0, %1"
        : "+r"(value)
        : "r"(one));
  return value;
}

}  // namespace cb

#endif
