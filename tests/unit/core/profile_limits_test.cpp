#include "core/profile_limits.h"

#include <cmath>

#include <doctest/doctest.h>

using namespace cb;

namespace {

std::string limit_problems(const MetricRule& rule, const MetricDef& def) {
  Problems problems;
  validate_limits(rule, def, "c", problems);
  std::string out;
  for (const Problem& p : problems.list) out += p.where + "\n";
  return out;
}

std::string needs_problems(const Requirements& needs) {
  Problems problems;
  validate_needs(needs, "c", problems);
  return problems.empty() ? "" : problems.list[0].where + " " + problems.list[0].what;
}

}  // namespace

TEST_CASE("a minimum that nothing falls below is no limit") {
  for (const double limit : {-1e300, -1.0, 0.0, 1e-9, 0.99})
    CHECK(cannot_be_missed(limit, true, "bytes_per_second"));
  CHECK_FALSE(cannot_be_missed(1, true, "bytes_per_second"));
  CHECK(cannot_be_missed(0, true, "seconds"));
  CHECK(cannot_be_missed(0.0009, true, "share"));
  CHECK_FALSE(cannot_be_missed(0.001, true, "share"));
  CHECK(cannot_be_missed(0, true, "a unit that is not known"));
  CHECK(*cannot_be_missed(0, true, "count") ==
        "is 0, which nothing falls below: the least that means something is 1e-09");
}

TEST_CASE("a maximum that nothing exceeds is no limit, and zero is one") {
  CHECK(cannot_be_missed(1e300, false, "seconds"));
  CHECK(cannot_be_missed(1.1e8, false, "seconds"));
  CHECK_FALSE(cannot_be_missed(1e8, false, "seconds"));
  CHECK(cannot_be_missed(201, false, "celsius"));
  CHECK_FALSE(cannot_be_missed(200, false, "celsius"));
  CHECK_FALSE(cannot_be_missed(0, false, "count"));
}

TEST_CASE("every limit of a rule is looked at") {
  const MetricDef rate{"rate", "bytes_per_second", Better::higher, ""};
  const MetricDef time{"time", "seconds", Better::lower, ""};
  CHECK(limit_problems({.metric = "rate", .min = 0, .max = 1e300}, rate) == "c.min\nc.max\n");
  CHECK(limit_problems({.metric = "rate", .min = 1e9, .max = 2e9}, rate) == "");
  CHECK(limit_problems({.metric = "time", .min_of_ceiling = 0.5}, time) == "c.min_of_ceiling\n");
  CHECK(limit_problems({.metric = "time", .max_spread_of_host = 1e9}, time) ==
        "c.max_spread_of_host\n");
}

TEST_CASE("needs that no host meets are refused, on both sides of the border") {
  CHECK(needs_problems({{"gpu", 256}, {"hosts", 100000}, {"nvme", 4096}}) == "");
  CHECK(needs_problems({{"gpu", 257}}) == "c.needs.gpu is 257, which nothing meets: at most 256");
  CHECK(needs_problems({{"hosts", 100001}}).find("c.needs.hosts") == 0);
  CHECK(needs_problems({{"nvme", 4097}}).find("c.needs.nvme") == 0);
  CHECK(needs_problems({{"hosts", 64}, {"hosts_at_most", 64}}) == "");
  CHECK(needs_problems({{"hosts", 65}, {"hosts_at_most", 64}}) ==
        "c.needs.hosts_at_most is 64, which nothing meets: hosts is 65");
}

TEST_CASE("what each unit may have at all, entered twice") {
  struct Bounds {
    const char* unit;
    double least, most;
  };
  for (const Bounds& b :
       {Bounds{"bytes_per_second", 1, 1e18}, Bounds{"bits_per_second", 1, 1e19},
        Bounds{"flops_per_second", 1, 1e22}, Bounds{"operations_per_second", 1, 1e22},
        Bounds{"messages_per_second", 1e-3, 1e15}, Bounds{"io_per_second", 1e-3, 1e15},
        Bounds{"seconds", 1e-12, 1e8}, Bounds{"bytes", 1, 1e21}, Bounds{"hertz", 1, 1e12},
        Bounds{"share", 1e-3, 1e3}, Bounds{"celsius", -90, 200}, Bounds{"watts", 1e-3, 1e9},
        Bounds{"count", 1e-9, 1e18}, Bounds{"count per second", 1e-9, 1e18},
        Bounds{"other", 1e-30, 1e30}}) {
    CAPTURE(b.unit);
    const double step = std::abs(b.least) / 100;
    CHECK_FALSE(cannot_be_missed(b.least, true, b.unit));
    CHECK(cannot_be_missed(b.least - step, true, b.unit));
    CHECK_FALSE(cannot_be_missed(b.most, false, b.unit));
    CHECK(cannot_be_missed(b.most * 1.01, false, b.unit));
  }
}

TEST_CASE("limits that ask for nothing are named, and those that ask for something pass") {
  const MetricDef rate{"rate", "bytes_per_second", Better::higher, ""};
  const MetricDef time{"time", "seconds", Better::lower, ""};
  const MetricDef share{"part", "share", Better::higher, ""};
  CHECK(limit_problems({.metric = "rate", .max = 1e9}, rate) == "c.max\n");
  CHECK(limit_problems({.metric = "rate", .max = 1e9, .min_of_fleet = 0.9}, rate) == "");
  CHECK(limit_problems({.metric = "rate", .max = 1e9, .min_of_ceiling = 0.9}, rate) == "");
  CHECK(limit_problems({.metric = "rate", .max = 1e9, .since = "s"}, rate) == "");
  CHECK(limit_problems({.metric = "rate", .min_of_ceiling = 0.5}, rate) == "");
  CHECK(limit_problems({.metric = "time", .max = 2}, time) == "");
  CHECK(limit_problems({.metric = "time", .min = 1}, time) == "c.min\n");
  CHECK(limit_problems({.metric = "time", .min = 1, .max = 2}, time) == "");
  CHECK(limit_problems({.metric = "time", .min = 1, .max_of_fleet = 2}, time) == "");
  CHECK(limit_problems({.metric = "part", .min = 1}, share) == "");
  CHECK(limit_problems({.metric = "part", .min = 1.01}, share) == "c.min\n");
  CHECK(limit_problems({.metric = "rate", .min = 95}, rate) == "");
}
