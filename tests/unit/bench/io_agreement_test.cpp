#include "bench/storage/io/agreement.h"

#include <doctest/doctest.h>

#include <atomic>

#include "thread_comm.h"

using namespace cb;
using namespace cb::io;

TEST_CASE("one rank that wants a stop is heard by all that work, who never wait for it") {
  std::atomic<int> heard{0}, rounds{0};
  ThreadGroup(4).run([&](Comm& comm) {
    Agreement agreement(comm);
    Stand known = Stand::working;
    for (int tick = 0; known < Stand::stop && tick < 200000; ++tick) {
      known = agreement.exchange(comm.rank() == 2 && tick > 20 ? Stand::stop : Stand::working);
      std::this_thread::yield();
      if (comm.rank() == 0) ++rounds;
    }
    CHECK(known == Stand::stop);
    CHECK(agreement.exchange(Stand::working) == Stand::stop);  // it stays
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
        CHECK(agreement.exchange(Stand::working) < Stand::stop);
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
      last_done = true;
    }
    CHECK(agreement.conclude([] { return Stand::done; }, [] {}) == Stand::done);
    CHECK(last_done);
  });
}

TEST_CASE("nobody counts before all are steady") {
  std::atomic<bool> steady{false};
  ThreadGroup(2).run([&](Comm& comm) {
    Agreement agreement(comm);
    const bool slow = comm.rank() == 0;
    for (int i = 0; i < 50; ++i) {
      const Stand known = agreement.exchange(slow ? Stand::unsteady : Stand::working);
      CHECK((known == Stand::unsteady || (!slow && steady)));  // the quick one may come late
    }
    if (slow) steady = true;
    Stand known = Stand::unsteady;
    while (known == Stand::unsteady) known = agreement.exchange(Stand::working);
    CHECK(known == Stand::working);
    CHECK(steady);
    agreement.conclude([] { return Stand::done; }, [] {});
  });
}
