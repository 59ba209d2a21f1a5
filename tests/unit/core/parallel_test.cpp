#include "core/parallel.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <pthread.h>
#include <sched.h>

#include "core/error.h"

using namespace cb;

namespace {

// For its life no thread can be created: each would need more address space than there is.
class NoThreads {
 public:
  NoThreads() {
    REQUIRE(pthread_getattr_default_np(&before_) == 0);
    pthread_attr_t huge;
    pthread_attr_init(&huge);
    REQUIRE(pthread_attr_setstacksize(&huge, size_t{1} << 50) == 0);
    REQUIRE(pthread_setattr_default_np(&huge) == 0);
    pthread_attr_destroy(&huge);
  }
  ~NoThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }

 private:
  pthread_attr_t before_ = {};
};

}  // namespace

TEST_CASE("every index is called once, also for none and one") {
  for (const size_t count : {0, 1, 2, 1000}) {
    std::vector<std::atomic<int>> calls(count);
    on_all_processors(count, [&](size_t i) { ++calls[i]; });
    for (const auto& n : calls) CHECK(n == 1);
  }
}

TEST_CASE("an exception goes on to the caller and ends the rest") {
  std::atomic<size_t> calls{0};
  CHECK_THROWS_AS(on_all_processors(100000,
                                    [&](size_t i) {
                                      ++calls;
                                      if (i == 3) throw Error("no");
                                      // Who throws may be interrupted: the others are not through
                                      // meanwhile.
                                      if (i > 3)
                                        std::this_thread::sleep_for(std::chrono::milliseconds(1));
                                    }),
                  Error);
  CHECK(calls < 100000);
}

TEST_CASE("a thread that is bound to one processor makes one call at a time") {
  CHECK(calls_at_a_time() >= 1);
  CHECK(calls_at_a_time() <= 8);
  size_t bound = 0;
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(sched_getcpu()), &one);
    if (sched_setaffinity(0, sizeof one, &one) == 0) bound = calls_at_a_time();
  }).join();
  CHECK(bound == 1);
}

TEST_CASE("beside the caller's own work every index is called once") {
  for (const size_t count : {0, 1, 2, 1000}) {
    std::vector<std::atomic<int>> calls(count);
    std::thread::id by;
    on_other_processors([&] { by = std::this_thread::get_id(); }, count,
                        [&](size_t i) { ++calls[i]; });
    CHECK(by == std::this_thread::get_id());
    for (const auto& n : calls) CHECK(n == 1);
  }
}

TEST_CASE("another thread works while the caller's own work waits for it") {
  std::atomic<bool> called{false};
  const auto wait = [&] {
    for (int i = 0; i < 10000 && !called; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  bool in_time = false;
  on_other_processors([&] { wait(), in_time = called; }, 1, [&](size_t) { called = true; });
  CHECK(in_time);
}

TEST_CASE("what fails in the caller's own work, or beside it, goes on to the caller") {
  const auto message = [](const std::function<void()>& own,
                          const std::function<void(size_t)>& f) -> std::string {
    try {
      on_other_processors(own, 100, f);
    } catch (const Error& e) {
      return e.what();
    }
    return "none";
  };
  CHECK(message([] { throw Error("own"); }, [](size_t) {}) == "own");
  CHECK(message([] {},
                [](size_t i) {
                  if (i == 7) throw Error("beside");
                }) == "beside");
}

TEST_CASE("where no thread can be had, the caller does all") {
  const NoThreads none;
  CHECK_THROWS_AS(std::thread([] {}).join(), std::system_error);
  std::vector<int> calls(100);
  bool own = false;
  on_all_processors(calls.size(), [&](size_t i) { ++calls[i]; });
  on_other_processors([&] { own = true; }, calls.size(), [&](size_t i) { ++calls[i]; });
  CHECK(own);
  for (const int n : calls) CHECK(n == 2);
}
