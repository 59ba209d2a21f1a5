#include "sys/cpu/reachable_cpus.h"

#include <algorithm>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "sys/cpu/affinity.h"

namespace cb {

TEST_CASE("a thread that is bound to one CPU still reaches those of its process, and stays bound") {
  const std::vector<int> all = allowed_cpus();
  std::vector<int> reached, afterwards;
  std::thread([&] {
    pin_this_thread(all.back());
    reached = reachable_cpus();
    afterwards = allowed_cpus();
  }).join();
  CHECK(afterwards == std::vector<int>{all.back()});
  CHECK(reached == reachable_cpus());
  CHECK(std::ranges::is_sorted(reached));
  CHECK(std::ranges::includes(reached, afterwards));
}

TEST_CASE("a mask comes back behind another one") {
  const std::vector<int> all = allowed_cpus();
  {
    const KeepAffinity keep;
    pin_this_thread(all.front());
    CHECK(allowed_cpus() == std::vector<int>{all.front()});
  }
  CHECK(allowed_cpus() == all);
}

}  // namespace cb
