#include "bench/storage/io/steady.h"

#include <doctest/doctest.h>

#include <vector>

using namespace cb::io;

TEST_CASE("steady state: range and slope of the last five rounds, by hand") {
  CHECK_FALSE(steadiness(std::vector<double>{1, 1, 1, 1}));
  CHECK_FALSE(steadiness(std::vector<double>{0, 0, 0, 0, 0}));
  // Average 100, 110 - 90 = 20 %; the line through them is level.
  const auto level = steadiness(std::vector<double>{100, 90, 110, 90, 110, 90, 110, 100});
  REQUIRE(level);
  CHECK(level->range == doctest::Approx(0.20));
  // x - 2 = -2 … 2 times 90, 110, 90, 110, 100: sum 20 over 10, times 4 over 100.
  const auto window = steadiness(std::vector<double>{90, 110, 90, 110, 100});
  REQUIRE(window);
  CHECK(window->slope == doctest::Approx(0.08));
  // A straight fall from 104 to 96 moves by 8 %, one from 106 to 94 by 12 %.
  CHECK(steadiness(std::vector<double>{104, 102, 100, 98, 96})->slope == doctest::Approx(0.08));
  CHECK(steadiness(std::vector<double>{104, 102, 100, 98, 96})->reached());
  CHECK(steadiness(std::vector<double>{106, 103, 100, 97, 94})->slope == doctest::Approx(0.12));
  CHECK_FALSE(steadiness(std::vector<double>{106, 103, 100, 97, 94})->reached());
  // Level, but too wide: 21 of 100.
  CHECK_FALSE(steadiness(std::vector<double>{100, 110.5, 100, 89.5, 100})->reached());
}

TEST_CASE("rounds end when their time is over and stop at a steady state") {
  Conditioning rounds(1.0, 10.0);
  rounds.look(9.5, 50);  // warm-up
  rounds.look(10.0, 100);
  uint64_t finished = 100;
  // A drive that falls from 1,000 to 500 bytes per second and stays there.
  for (int i = 1; i <= 20 && !rounds.over(); ++i) {
    finished += i <= 3 ? 1000 : 500;
    rounds.look(10.0 + i - 0.5, finished - 100);  // within the round: nothing
    rounds.look(10.0 + i, finished);
  }
  CHECK(rounds.reached());
  REQUIRE(rounds.rates().size() == 8);  // three fast ones and a window of slow ones
  CHECK(rounds.rates()[0] == doctest::Approx(1000));
  CHECK(rounds.rates()[7] == doctest::Approx(500));
  CHECK(rounds.text() ==
        "reached after 8 rounds of 1 s: range 0.000 (at most 0.2), slope 0.000 (at most 0.1)");
}

TEST_CASE("what never gets steady is given up after 25 rounds") {
  Conditioning rounds(1.0, 0.0);
  uint64_t finished = 0;
  for (int i = 0; i < 100; ++i) rounds.look(i, finished += i % 2 == 0 ? 100 : 300);
  CHECK(rounds.over());
  CHECK_FALSE(rounds.reached());
  CHECK(rounds.rates().size() == kMaxSteadyRounds);
  CHECK(rounds.text().text().starts_with("not reached after 25 rounds"));
}
