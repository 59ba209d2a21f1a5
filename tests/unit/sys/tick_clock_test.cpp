// The clock of the IO engines: which one is taken, and that a wrong scale is found.
#include "sys/cpu/tick_clock.h"

#include <chrono>
#include <thread>

#include <doctest/doctest.h>

#include "core/error.h"
#include "tree.h"

using namespace cb;

namespace {

constexpr const char* kSource = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

FsRoot with_source(const test::Tree& tree, const std::string& name) {
  tree.add(kSource, name + "\n");
  return tree.fs();
}

}  // namespace

TEST_CASE("a tick's length is the time over the ticks, uncertain by what both readings are") {
  const auto tick = tick_length({1000, 5.0, 30e-9}, {26'001'000, 5.01, 70e-9});
  REQUIRE(tick);
  CHECK(tick->seconds == doctest::Approx(0.01 / 26e6));
  CHECK(tick->uncertainty == doctest::Approx(100e-9 / 0.01));
  CHECK_FALSE(tick_length({1000, 5.0, 0}, {1000, 5.01, 0}));  // it stands still
  CHECK_FALSE(tick_length({1000, 5.0, 0}, {999, 5.01, 0}));   // it went back
  CHECK_FALSE(tick_length({1000, 5.0, 0}, {2000, 5.0, 0}));
}

TEST_CASE("a scale is wrong beyond 0.1 % and the readings' uncertainty") {
  const ClockReading from{0, 100, 0};
  const auto off_by = [&](double share, double uncertainty) {
    return why_wrong_scale(1e-9 * (1 + share), from, {1'000'000'000, 101, uncertainty}).has_value();
  };
  CHECK_FALSE(off_by(0, 0));
  CHECK_FALSE(off_by(0.9e-3, 0));
  CHECK_FALSE(off_by(-0.9e-3, 0));
  CHECK(off_by(1.1e-3, 0));
  CHECK(off_by(-1.1e-3, 0));
  CHECK_FALSE(off_by(1.1e-3, 0.2e-3));
  CHECK(off_by(1.1e-3, 0.05e-3));
  // Set back meanwhile: less than nothing has passed.
  CHECK(why_wrong_scale(1e-9, {5'000'000, 100, 0}, {1'000'000, 101, 0}));
  const auto why = why_wrong_scale(2e-9, from, {1'000'000'000, 101, 0});
  REQUIRE(why);
  CHECK(*why ==
        "the processor's counter says 2.000000 s where CLOCK_MONOTONIC_RAW says 1.000000 s");
}

TEST_CASE("the counter serves only where the kernel keeps time by it") {
  const test::Tree tree;
  const TickClock unknown(tree.fs());
  CHECK(unknown.how() == "CLOCK_MONOTONIC");
  const TickClock other(with_source(tree, "kvm-clock"));
  CHECK(other.how() == "CLOCK_MONOTONIC");
  CHECK(other.now() >= 0);
  other.check();
}

TEST_CASE("the clock goes forward as the kernel's does") {
  // This machine's own source and the other way.
  const test::Tree tree;
  for (const FsRoot& fs : {FsRoot(), with_source(tree, "hpet")}) {
    const TickClock clock(fs);
    const double before = monotonic_seconds();
    const double first = clock.now();
    const double since = monotonic_seconds();
    double last = first;
    for (int i = 0; i < 100'000; ++i) {
      const double now = clock.now();
      REQUIRE(now > last - 1e-6);
      last = now;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const double until = monotonic_seconds();
    const double passed = clock.now() - first;
    const double after = monotonic_seconds();
    // However long this thread was held up between two of these lines.
    CHECK(passed >= (until - since) * (1 - 1e-3));
    CHECK(passed <= (after - before) * (1 + 1e-3));
    clock.check();
  }
}

TEST_CASE("a clock whose ticks are not as long as assumed is refused at the end") {
  const ClockReading start = read_clocks();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const auto tick = tick_length(start, read_clocks());
  REQUIRE(tick);
  const auto with_scale = [&](double factor) {
    return TickClock(start, {tick->seconds * factor, tick->uncertainty});
  };
  CHECK_NOTHROW(with_scale(1).check());
  CHECK_NOTHROW(with_scale(1.0008).check());
  CHECK_THROWS_AS(with_scale(1.002).check(), Error);
  CHECK_THROWS_AS(with_scale(0.998).check(), Error);
  CHECK(with_scale(2).now() > 1.9 * with_scale(1).now());
  CHECK(with_scale(1).how().text().starts_with("processor's counter, its scale within "));
  try {
    with_scale(0.5).check();
  } catch (const Error& e) {
    CHECK(std::string(e.what()).find("next: measure again") != std::string::npos);
  }
}
