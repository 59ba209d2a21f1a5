#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "bench/cpu/burn/kernels.h"
#include "core/messages/said.h"

namespace cb {

// The result that every pass must give, to the last bit, on every CPU: each pass starts from the
// same seeded data. The generic kernel computed it, and tests/unit/bench/burn_test.cpp checks it.
extern const BurnWork::Result kBurnAnswer;

// Runs passes on one CPU from construction until told to stop, and compares each with the known
// answer.
class BurnWorker {
 public:
  // The worker flips one bit in pass `faulty_pass` on purpose (1-based; 0: in none).
  BurnWorker(int cpu, BurnGemm gemm, const std::atomic<bool>& stop, uint64_t faulty_pass);
  ~BurnWorker();
  BurnWorker(const BurnWorker&) = delete;
  BurnWorker& operator=(const BurnWorker&) = delete;

  int cpu() const { return cpu_; }
  uint64_t rounds() const { return rounds_.load(std::memory_order_relaxed); }
  uint64_t passes() const { return passes_.load(std::memory_order_relaxed); }
  uint64_t wrong() const { return wrong_.load(std::memory_order_relaxed); }

  // Waits for the thread, which ends within a fraction of a millisecond after `stop`.
  void join();
  // After join(): the first wrong result ("pass 7, matrix product: got …, expected …"), or empty.
  const Said& first_wrong() const { return first_wrong_; }
  // After join(): the reason why the worker could not run, or empty.
  const Said& failure() const { return failure_; }

 private:
  void loop();
  void compare(const BurnWork::Result& result);

  int cpu_;
  BurnGemm gemm_;
  const std::atomic<bool>& stop_;
  uint64_t faulty_pass_;
  std::atomic<uint64_t> rounds_{0};
  std::atomic<uint64_t> passes_{0};
  std::atomic<uint64_t> wrong_{0};
  Said first_wrong_;
  Said failure_;
  std::thread thread_;
};

}  // namespace cb
