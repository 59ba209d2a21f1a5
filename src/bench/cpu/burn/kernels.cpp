#include "bench/cpu/burn/kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "kernels/pattern.h"

namespace cb {

#if defined(__x86_64__)
void burn_gemm_avx2(const double* a, const double* b, double* c);
void burn_gemm_avx512(const double* a, const double* b, double* c);
#endif

namespace {

using kernels::pattern_word;

#if defined(__x86_64__)
std::vector<BurnGemmChoice> available_gemms() {
  std::vector<BurnGemmChoice> out;
  if (__builtin_cpu_supports("avx512f")) out.push_back({burn_gemm_avx512, "avx512"});
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    out.push_back({burn_gemm_avx2, "avx2"});
  out.push_back({});
  return out;
}
#else
std::vector<BurnGemmChoice> available_gemms() { return {BurnGemmChoice{}}; }
#endif

constexpr size_t kElements = kBurnSide * kBurnSide;

// Fills with uniform values in [-1, 1) with 53 random bits, so that every bit of the mantissa
// works.
void fill(double* matrix, uint64_t seed) {
  for (size_t i = 0; i < kElements; ++i)
    matrix[i] = std::ldexp(static_cast<double>(pattern_word(i, seed) >> 11), -52) - 1;
}

uint64_t mix(uint64_t hash, uint64_t word) {
  return std::rotl((hash ^ word) * 0x9e3779b97f4a7c15U, 29);
}

}  // namespace

// Adds each element's terms in the same order as the tiles; std::fma also rounds once.
void burn_gemm_generic(const double* a, const double* b, double* c) {
  for (size_t i = 0; i < kBurnSide; ++i) {
    for (size_t k = 0; k < kBurnSide; ++k) {
      const double x = a[i * kBurnSide + k];
      for (size_t j = 0; j < kBurnSide; ++j)
        c[i * kBurnSide + j] = std::fma(x, b[k * kBurnSide + j], c[i * kBurnSide + j]);
    }
  }
}

std::span<const BurnGemmChoice> burn_gemms() {
  static const std::vector<BurnGemmChoice> all = available_gemms();
  return all;
}

// Multiplication by an odd number and rotation are one-to-one, so two inputs that differ in one
// word always differ in the hash.
uint64_t burn_hash(std::span<const double> values) {
  uint64_t hash = values.size();
  for (const double v : values) hash = mix(hash, std::bit_cast<uint64_t>(v));
  return hash;
}

void BurnWork::Free::operator()(double* p) const { std::free(p); }

BurnWork::Matrix BurnWork::allocate() {
  Matrix m(static_cast<double*>(std::aligned_alloc(64, kElements * sizeof(double))));
  if (m == nullptr) throw std::bad_alloc();
  return m;
}

BurnWork::BurnWork(BurnGemm gemm)
    : gemm_(gemm),
      a_(allocate()),
      b_(allocate()),
      c_(allocate()),
      memory_(std::make_unique<uint64_t[]>(kWords)) {
  fill(a_.get(), 0x6275726e5f61);
  fill(b_.get(), 0x6275726e5f62);
}

bool BurnWork::pass(const std::function<bool(bool)>& tick, Result& result) {
  return matrix_phase(tick, result.matrix) && memory_phase(tick, result.memory);
}

// The sum grows over the rounds, so an error in any round stays in it.
bool BurnWork::matrix_phase(const std::function<bool(bool)>& tick, uint64_t& hash) {
  std::fill_n(c_.get(), kElements, 0.0);
  for (size_t round = 0; round < kRounds; ++round) {
    gemm_(a_.get(), b_.get(), c_.get());
    if (!tick(true)) return false;
  }
  if (fault_) {
    auto* const byte = reinterpret_cast<unsigned char*>(c_.get() + kElements / 2);
    *byte ^= 1;
    fault_ = false;
  }
  hash = burn_hash({c_.get(), kElements});
  return true;
}

// Writes every word, then reads each once in jumps of a large odd stride and replaces it by a mix
// of all that was read so far. The mix consists of integer multiplications and rotations.
bool BurnWork::memory_phase(const std::function<bool(bool)>& tick, uint64_t& hash) {
  static_assert(std::has_single_bit(kWords));
  constexpr size_t kChunk = (size_t{64} << 10) / 8;
  constexpr size_t kStride = 40503;  // odd, so it visits every word of a power of two
  uint64_t running = 0x6275726e;
  for (size_t i = 0; i < kWords; ++i) {
    memory_[i] = pattern_word(i, 0x6d656d6f7279);
    if (i % kChunk == kChunk - 1 && !tick(false)) return false;
  }
  for (size_t i = 0; i < kWords; ++i) {
    uint64_t& word = memory_[i * kStride % kWords];
    running = mix(running, word);
    word = running;
    if (i % kChunk == kChunk - 1 && !tick(false)) return false;
  }
  for (size_t i = 0; i < kWords; ++i) {
    running = mix(running, memory_[i]);
    if (i % kChunk == kChunk - 1 && !tick(false)) return false;
  }
  hash = running;
  return true;
}

}  // namespace cb
