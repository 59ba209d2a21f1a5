#include "core/parallel.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "core/error.h"

using namespace cb;

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
