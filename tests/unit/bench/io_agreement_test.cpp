#include "bench/storage/io/agreement.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "thread_comm.h"

using namespace cb;
using namespace cb::io;

TEST_CASE("one rank that wants a stop is heard by all that work, who never wait for it") {
  std::atomic<int> heard{0}, rounds{0};
  ThreadGroup(4).run([&](Comm& comm) {
    Agreement agreement(comm);
    RunState known = RunState::working;
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    for (int tick = 0; known < RunState::stop && std::chrono::steady_clock::now() < until; ++tick) {
      known =
          agreement.exchange(comm.rank() == 2 && tick > 20 ? RunState::stop : RunState::working);
      std::this_thread::yield();
      if (comm.rank() == 0) ++rounds;
    }
    CHECK(known == RunState::stop);
    CHECK(agreement.exchange(RunState::working) == RunState::stop);  // it stays
    ++heard;
  });
  CHECK(heard == 4);
  CHECK(rounds > 1);
}

TEST_CASE("who is ready first goes on answering until the last is done") {
  std::atomic<bool> last_done{false};
  ThreadGroup(3).run([&](Comm& comm) {
    Agreement agreement(comm);
    if (comm.rank() == 1) {
      for (int i = 0; i < 300; ++i) {
        CHECK(agreement.exchange(RunState::working) < RunState::stop);
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
      last_done = true;
    }
    CHECK(agreement.conclude([] { return RunState::done; }, [] {}) == RunState::done);
    CHECK(last_done);
  });
}

TEST_CASE("nobody counts before all are steady") {
  std::atomic<bool> steady{false};
  ThreadGroup(2).run([&](Comm& comm) {
    Agreement agreement(comm);
    const bool slow = comm.rank() == 0;
    for (int i = 0; i < 50; ++i) {
      const RunState known = agreement.exchange(slow ? RunState::unsteady : RunState::working);
      CHECK((known == RunState::unsteady || (!slow && steady)));  // the quick one may come late
    }
    if (slow) steady = true;
    RunState known = RunState::unsteady;
    while (known == RunState::unsteady) known = agreement.exchange(RunState::working);
    CHECK(known == RunState::working);
    CHECK(steady);
    agreement.conclude([] { return RunState::done; }, [] {});
  });
}
