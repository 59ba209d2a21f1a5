#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

// Work whose result is the same to the last bit on every CPU: docs/methods/burn.md.
namespace cb {

// Side of the square matrices. Three of them (221 KB of doubles) fit into the second-level cache.
constexpr size_t kBurnSide = 96;

// c += a * b, row-major kBurnSide × kBurnSide doubles. Each element is one chain of fused
// multiply-adds over the inner index, ascending. A fused operation rounds once, so every
// instruction set gives the same bits.
using BurnGemm = void (*)(const double* a, const double* b, double* c);

void burn_gemm_generic(const double* a, const double* b, double* c);

struct BurnGemmChoice {
  BurnGemm run = burn_gemm_generic;
  std::string name = "generic";  // "avx512", "avx2", "generic"
};
// All kernels that this CPU can run, widest first; the last one is generic.
std::span<const BurnGemmChoice> burn_gemms();

// 64-bit hash of the values' bits; every bit of the input changes the result.
uint64_t burn_hash(std::span<const double> values);

// One core's matrices and memory. Every pass starts from the same seeded data.
class BurnWork {
 public:
  static constexpr size_t kRounds = 600;                   // matrix products per pass
  static constexpr size_t kWords = (size_t{4} << 20) / 8;  // 4 MiB, beyond the second-level cache
  static constexpr double kFlopsPerRound =
      2.0 * kBurnSide * kBurnSide * kBurnSide;  // a multiplication and an addition per term

  explicit BurnWork(BurnGemm gemm);
  BurnWork(const BurnWork&) = delete;
  BurnWork& operator=(const BurnWork&) = delete;

  struct Result {
    uint64_t matrix = 0;  // hash of the sum of all products
    uint64_t memory = 0;  // hash of writing, permuting and reading back the memory
    bool operator==(const Result&) const = default;
  };
  // Runs one pass. Calls `tick` after every matrix product (true) and every 64 KiB of the memory
  // phase (false). Returns false as soon as `tick` does; `result` is then not complete.
  bool pass(const std::function<bool(bool)>& tick, Result& result);
  // Makes the next pass flip one bit of its matrix before it hashes it.
  void inject_fault() { fault_ = true; }

 private:
  bool matrix_phase(const std::function<bool(bool)>& tick, uint64_t& hash);
  bool memory_phase(const std::function<bool(bool)>& tick, uint64_t& hash);

  struct Free {
    void operator()(double* p) const;
  };
  using Matrix = std::unique_ptr<double, Free>;
  static Matrix allocate();

  BurnGemm gemm_;
  Matrix a_, b_, c_;
  std::unique_ptr<uint64_t[]> memory_;
  bool fault_ = false;
};

}  // namespace cb
