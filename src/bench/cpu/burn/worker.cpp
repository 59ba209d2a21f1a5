#include "bench/cpu/burn/worker.h"

#include <fmt/format.h>

#include "core/error.h"
#include "sys/cpu/affinity.h"

namespace cb {

const BurnWork::Result kBurnAnswer{.matrix = 200489430984298508U, .memory = 4392779780670720171U};

BurnWorker::BurnWorker(int cpu, BurnGemm gemm, const std::atomic<bool>& stop, uint64_t faulty_pass)
    : cpu_(cpu), gemm_(gemm), stop_(stop), faulty_pass_(faulty_pass), thread_([this] { loop(); }) {}

BurnWorker::~BurnWorker() { join(); }

void BurnWorker::join() {
  if (thread_.joinable()) thread_.join();
}

void BurnWorker::loop() try {
  pin_this_thread(cpu_);
  BurnWork work(gemm_);
  const auto tick = [this](bool round) {
    if (round) rounds_.fetch_add(1, std::memory_order_relaxed);
    return !stop_.load(std::memory_order_relaxed);
  };
  for (BurnWork::Result result;;) {
    if (passes() + 1 == faulty_pass_) work.inject_fault();
    if (!work.pass(tick, result)) return;
    compare(result);
  }
} catch (const std::exception& e) {
  failure_ = said_by(e);
}

void BurnWorker::compare(const BurnWork::Result& result) {
  const uint64_t pass = passes_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (result == kBurnAnswer) return;
  wrong_.fetch_add(1, std::memory_order_relaxed);
  if (!first_wrong_.empty()) return;
  const bool matrix = result.matrix != kBurnAnswer.matrix;
  first_wrong_ = said("burn.pass_wrong", pass, said(matrix ? "burn.matrix_product" : "burn.memory"),
                      fmt::format("{:016x}", matrix ? result.matrix : result.memory),
                      fmt::format("{:016x}", matrix ? kBurnAnswer.matrix : kBurnAnswer.memory));
}

}  // namespace cb
