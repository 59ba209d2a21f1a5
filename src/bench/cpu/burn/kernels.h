#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

// Work with a result that is the same to the last bit on every CPU: docs/methods/burn.md.
namespace cb {

// Side of the square matrices: three of them (221 KB of doubles) live in the second-level cache.
constexpr size_t kBurnSide = 96;

// c += a * b, row-major kBurnSide × kBurnSide doubles. For every element one chain of fused
// multiply-adds over the inner index in ascending order: fused operations round once, so every
// instruction set gives the same bits.
using BurnGemm = void (*)(const double* a, const double* b, double* c);

void burn_gemm_generic(const double* a, const double* b, double* c);

struct BurnGemmChoice {
  BurnGemm run = burn_gemm_generic;
  std::string name = "generic";  // "avx512", "avx2", "generic"
};
// Every one that this CPU can run, widest first; the last is generic.
std::span<const BurnGemmChoice> burn_gemms();

// 64-bit hash of the bytes; every bit of the input changes the result.
uint64_t burn_hash(std::span<const double> values);

// One core's matrices and memory. Reset to the same seeded start before every pass.
class BurnWork {
 public:
  static constexpr size_t kRounds = 600;                   // matrix products a pass
  static constexpr size_t kWords = (size_t{4} << 20) / 8;  // 4 MiB, beyond the second-level cache
  static constexpr double kFlopsPerRound =
      2.0 * kBurnSide * kBurnSide * kBurnSide;  // a multiplication and an addition per term

  explicit BurnWork(BurnGemm gemm);
  BurnWork(const BurnWork&) = delete;
  BurnWork& operator=(const BurnWork&) = delete;

  struct Result {
    uint64_t matrix = 0;  // hash of the sum of all products
    uint64_t memory = 0;  // of writing, permuting and reading back the memory
    bool operator==(const Result&) const = default;
  };
  // Runs one pass. `tick` is called after every matrix product (true) and every 64 KiB of the
  // memory phase (false); returns false as soon as tick does, with no result.
  bool pass(const std::function<bool(bool)>& tick, Result& result);
  // Before the next pass hashes its matrices, flips one bit of them.
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
