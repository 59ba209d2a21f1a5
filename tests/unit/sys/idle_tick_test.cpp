// Where each idle moment stops the tick: what the kernel says of its idle driver and governor.
#include "sys/cpu/idle_tick.h"

#include <string>

#include <doctest/doctest.h>

#include "tree.h"

using namespace cb;

namespace {

std::optional<double> with(const std::string& driver, const std::string& governor,
                           const std::string& poll_ns) {
  const test::Tree tree;
  tree.add("/sys/devices/system/cpu/cpuidle/current_driver", driver + "\n");
  tree.add("/sys/devices/system/cpu/cpuidle/current_governor_ro", governor + "\n");
  if (!poll_ns.empty())
    tree.add("/sys/module/haltpoll/parameters/guest_halt_poll_ns", poll_ns + "\n");
  return tick_that_idle_stops(tree.fs());
}

}  // namespace

TEST_CASE("without an idle driver, or with one that only halts, the tick stops") {
  const auto none = with("none", "menu", "");
  REQUIRE(none);
  CHECK(*none >= 0.001);  // from 1,000 ticks a second
  CHECK(*none <= 0.010);  // to 100
  CHECK(with("haltpoll", "haltpoll", "0"));
}

TEST_CASE("where a governor decides the tick is its own affair") {
  CHECK_FALSE(with("intel_idle", "menu", ""));
  CHECK_FALSE(with("haltpoll", "haltpoll", "200000"));
  CHECK_FALSE(with("haltpoll", "haltpoll", ""));
  const test::Tree unknown;
  CHECK_FALSE(tick_that_idle_stops(unknown.fs()));
}
