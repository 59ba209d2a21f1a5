#include "bench/harness/watchdog.h"

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include <doctest/doctest.h>

using namespace cb;
using namespace std::chrono_literals;

namespace {

// A watchdog whose expiry can be waited for.
struct WatchedRun {
  std::promise<WatchState> promise;
  std::future<WatchState> expired = promise.get_future();
  Watchdog watchdog{[this](const WatchState& s) { promise.set_value(s); }};

  bool expires_within(std::chrono::milliseconds t) {
    return expired.wait_for(t) == std::future_status::ready;
  }
};

}  // namespace

TEST_CASE("without progress it expires once and tells what was going on") {
  WatchedRun w;
  w.watchdog.arm("mpi all_reduce", 60, 0.1);
  w.watchdog.progress();
  w.watchdog.progress();
  w.watchdog.note("sampling");
  REQUIRE(w.expires_within(5s));
  const WatchState state = w.expired.get();
  CHECK(state.doing == "mpi all_reduce");
  CHECK(state.note == "sampling");
  CHECK(state.iterations == 2);
  CHECK(state.idle_seconds >= 0.1);
  CHECK(state.used_up_seconds == 0);
  std::this_thread::sleep_for(250ms);  // a second expiry would throw from set_value()
}

TEST_CASE("progress keeps it quiet, until the whole deadline") {
  WatchedRun w;
  w.watchdog.arm("x", 60, 0.8);
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(50ms);
    w.watchdog.progress();
  }
  CHECK_FALSE(w.expires_within(0ms));
  w.watchdog.arm("x", 0.1, 60);
  const auto end = std::chrono::steady_clock::now() + 5s;
  while (!w.expires_within(10ms) && std::chrono::steady_clock::now() < end) w.watchdog.progress();
  REQUIRE(w.expires_within(0ms));
  CHECK(w.expired.get().used_up_seconds == 0.1);
}

TEST_CASE("who moves inside a step is not idle, and counts no step") {
  WatchedRun w;
  w.watchdog.arm("x", 60, 0.8);
  w.watchdog.progress();
  w.watchdog.enter();
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(50ms);
    w.watchdog.alive();
  }
  CHECK_FALSE(w.expires_within(0ms));
  CHECK(w.watchdog.state().iterations == 1);
  CHECK(w.watchdog.state().entered == 2);
  CHECK(w.expires_within(5s));
}

TEST_CASE("a wait within a step is seen from outside, and counts no step when it is over") {
  WatchedRun w;
  w.watchdog.arm("x", 60, 60);
  w.watchdog.progress();
  {
    const Watchdog::Waiting waiting(&w.watchdog);
    CHECK(w.watchdog.state().entered == 2);
    { const Watchdog::Waiting part(&w.watchdog); }
    CHECK(w.watchdog.state().entered == 2);
    CHECK(w.watchdog.state().iterations == 1);
    std::this_thread::sleep_for(50ms);
    CHECK(w.watchdog.state().idle_seconds >= 0.05);
  }
  CHECK(w.watchdog.state().entered == 1);
  CHECK(w.watchdog.state().iterations == 1);
  CHECK(w.watchdog.state().idle_seconds < 0.05);
}

TEST_CASE(
    "in a step that ends by itself nobody is idle, and after its time the limit holds again") {
  WatchedRun w;
  w.watchdog.arm("x", 60, 0.2);
  {
    const Watchdog::Bounded step(w.watchdog, 1);
    CHECK_FALSE(w.expires_within(800ms));
  }
  // Ended in time: what follows is idle as ever, counted from there.
  CHECK(w.expires_within(5s));
  CHECK(w.expired.get().idle_seconds >= 0.2);

  WatchedRun stuck;
  stuck.watchdog.arm("x", 60, 0.2);
  const auto begin = std::chrono::steady_clock::now();
  const Watchdog::Bounded step(stuck.watchdog, 0.5);
  CHECK(stuck.expires_within(5s));
  CHECK(std::chrono::steady_clock::now() - begin >= 600ms);

  WatchedRun late;  // the whole deadline holds in any step
  late.watchdog.arm("x", 0.2, 0.1);
  const Watchdog::Bounded whole(late.watchdog, 60);
  CHECK(late.expires_within(5s));
}

TEST_CASE("a part of the work has an idle limit of its own, counted from its begin") {
  WatchedRun w;
  w.watchdog.arm("x", 60, 60);
  {
    const Watchdog::IdleLimit measuring(w.watchdog, 0.3);
    CHECK(w.expires_within(5s));
  }
  CHECK(w.expired.get().idle_seconds >= 0.3);

  WatchedRun after;
  after.watchdog.arm("x", 60, 1.5);
  { const Watchdog::IdleLimit measuring(after.watchdog, 0.3); }
  CHECK_FALSE(after.expires_within(800ms));  // the first limit again
  CHECK(after.expires_within(5s));
}

TEST_CASE("who says that time is up goes on when that was heard, or cannot be") {
  std::atomic<bool> was_heard{false};
  std::thread listener;
  Watchdog* self = nullptr;
  Watchdog watchdog([&](const WatchState&) {
    listener = std::thread([&] {
      std::this_thread::sleep_for(200ms);
      was_heard = true;
      self->heard();
    });
  });
  self = &watchdog;
  watchdog.arm("x", 60, 60);
  watchdog.expire();
  CHECK(was_heard);
  listener.join();

  WatchedRun deaf;
  deaf.watchdog.arm("x", 60, 60);
  deaf.watchdog.expire();
  CHECK(deaf.expires_within(0ms));
}

TEST_CASE("disarmed it never expires, and it ends at once") {
  const auto start = std::chrono::steady_clock::now();
  {
    WatchedRun w;
    w.watchdog.arm("x", 0.2, 0.2);
    w.watchdog.disarm();
    CHECK_FALSE(w.expires_within(400ms));
  }
  {
    WatchedRun w;
    w.watchdog.arm("x", 3600, 3600);
  }
  CHECK(std::chrono::steady_clock::now() - start < 3s);
}

TEST_CASE("ranks that did different numbers of steps apart count alike once they have met") {
  WatchedRun few, many;
  for (WatchedRun* w : {&few, &many}) w->watchdog.arm("x", 60, 60);
  few.watchdog.progress();
  for (int i = 0; i < 9; ++i) many.watchdog.progress();
  for (WatchedRun* w : {&few, &many}) w->watchdog.count_from(9);
  few.watchdog.enter();
  CHECK(few.watchdog.state().entered == 10);
  CHECK(few.watchdog.state().iterations == 9);
  CHECK(many.watchdog.state().entered == 9);
  CHECK(many.watchdog.state().iterations == 9);
}
