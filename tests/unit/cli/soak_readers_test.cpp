// Which of all cases a soak runs once more after its last cycle.
#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "bench/registry.h"
#include "core/profile_soak.h"

using namespace cb;

TEST_CASE("the cases that a soak reads with exist, and they are these") {
  std::vector<std::string> readers;
  for (const CaseInfo& info : catalogue()) {
    Profile p;
    p.steps = {{.id = "s", .case_name = info.name}};
    p.soak = Soak{{"s"}, 2, 1};
    const bool again = !readers.empty() && readers.back() == info.name;  // of another device
    if (is_reading(p, p.steps[0]) && !again) readers.push_back(info.name);
  }
  std::ranges::sort(readers);
  CHECK(readers ==
        std::vector<std::string>{"drives", "events", "fabric", "health", "nics", "optics"});
}
