#include <atomic>
#include <cstring>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "bench/cpu/burn/cpus.h"
#include "bench/cpu/burn/worker.h"
#include "sys/cpu/affinity.h"

using namespace cb;

namespace {

constexpr size_t kElements = kBurnSide * kBurnSide;

// A whole pass without vector instructions takes minutes there; its accesses are those of one
// product.
#ifdef CB_SANITIZED
constexpr bool kInstrumented = true;
#else
constexpr bool kInstrumented = false;
#endif

struct alignas(64) Matrices {
  double a[kElements], b[kElements], c[kElements];
};

BurnWork::Result one_pass(BurnGemm gemm, bool fault = false) {
  BurnWork work(gemm);
  if (fault) work.inject_fault();
  BurnWork::Result result;
  REQUIRE(work.pass([](bool) { return true; }, result));
  return result;
}

}  // namespace

TEST_CASE("every instruction set of this CPU gives the known answer, to the last bit") {
  for (const BurnGemmChoice& choice : burn_gemms()) {
    CAPTURE(choice.name);
    if (kInstrumented && choice.name == "generic") continue;
    const auto result = one_pass(choice.run);
    CHECK(result.matrix == kBurnAnswer.matrix);
    CHECK(result.memory == kBurnAnswer.memory);
  }
  CHECK(burn_gemms().back().name == "generic");
}

TEST_CASE("every instruction set multiplies matrices: exact small integers") {
  const auto m = std::make_unique<Matrices>();
  for (const BurnGemmChoice& choice : burn_gemms()) {
    CAPTURE(choice.name);
    for (size_t i = 0; i < kBurnSide; ++i) {
      for (size_t j = 0; j < kBurnSide; ++j) {
        m->a[i * kBurnSide + j] = static_cast<double>(i);
        m->b[i * kBurnSide + j] = static_cast<double>(j + 1);
        m->c[i * kBurnSide + j] = 7;
      }
    }
    choice.run(m->a, m->b, m->c);
    for (size_t i = 0; i < kBurnSide; ++i) {
      for (size_t j = 0; j < kBurnSide; ++j)
        REQUIRE(m->c[i * kBurnSide + j] == static_cast<double>(7 + kBurnSide * i * (j + 1)));
    }
  }
}

TEST_CASE("a flipped bit changes the hash and nothing else") {
  const auto result = one_pass(burn_gemms().front().run, true);
  CHECK(result.matrix != kBurnAnswer.matrix);
  CHECK(result.memory == kBurnAnswer.memory);
}

TEST_CASE("any single flipped bit changes burn_hash") {
  std::vector<double> values(9, 1.25);
  const uint64_t before = burn_hash(values);
  for (size_t i = 0; i < values.size(); ++i) {
    for (int bit = 0; bit < 64; ++bit) {
      auto changed = values;
      uint64_t word;
      std::memcpy(&word, &changed[i], 8);
      word ^= uint64_t{1} << bit;
      std::memcpy(&changed[i], &word, 8);
      CHECK(burn_hash(changed) != before);
    }
  }
}

TEST_CASE("a pass that is stopped gives no result") {
  BurnWork work(burn_gemms().front().run);
  BurnWork::Result result;
  int rounds = 0;
  CHECK_FALSE(work.pass([&](bool) { return ++rounds < 5; }, result));
  CHECK(rounds == 5);
  CHECK(result == BurnWork::Result{});
}

TEST_CASE("a worker counts its passes, and names the faulty one") {
  std::atomic<bool> stop{false};
  BurnWorker worker(allowed_cpus().front(), burn_gemms().front().run, stop, 2);
  while (worker.passes() < 3 && worker.failure().empty()) std::this_thread::yield();
  stop = true;
  worker.join();
  CHECK(worker.failure().empty());
  CHECK(worker.passes() >= 3);
  CHECK(worker.wrong() == 1);
  CHECK(worker.first_wrong().text().starts_with("pass 2, matrix product: hash "));
  CHECK(worker.rounds() >= 3 * BurnWork::kRounds);
}

TEST_CASE("a worker that may not run on its CPU says so") {
  std::atomic<bool> stop{false};
  BurnWorker worker(16000, burn_gemms().front().run, stop, 0);
  worker.join();
  CHECK(worker.failure().text().find("cpu 16000") != std::string::npos);
  CHECK(worker.passes() == 0);
}

TEST_CASE("CPUs are divided among the ranks of a host, each once") {
  using Cpus = std::vector<std::vector<int>>;
  CHECK(divide_cpus({{0, 1, 2, 3}}) == Cpus{{0, 1, 2, 3}});
  CHECK(divide_cpus({{0, 1, 2, 3}, {0, 1, 2, 3}}) == Cpus{{0, 2}, {1, 3}});
  CHECK(divide_cpus({{0, 1}, {2, 3}}) == Cpus{{0, 1}, {2, 3}});
  CHECK(divide_cpus({{0, 1}, {0, 1}, {0, 1}, {0, 1}}) == Cpus{{0}, {1}, {}, {}});
  CHECK(divide_cpus({{0}, {0, 1, 2}}) == Cpus{{0}, {1, 2}});
}
