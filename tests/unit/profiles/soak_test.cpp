// What the shipped soaks do not let pass.
#include <algorithm>

#include <doctest/doctest.h>

#include "core/profile_soak.h"
#include "shipped.h"

using namespace cb;

TEST_CASE("no shipped soak passes an uncorrected error that the kernel's log tells") {
  for (const char* name : {"soak-24h", "soak-72h", "soak-168h"}) {
    const Profile p = test::shipped(name);
    const auto c = std::ranges::find(p.criteria, std::string("soak.kernel"), &Criterion::id);
    REQUIRE(c != p.criteria.end());
    const SoakRule& rule = std::get<SoakRule>(c->rule);
    CHECK(rule.limit == 0);
    CHECK(c->severity == Severity::fail);
    // Interruptions and wrong data have criteria of their own, and what a GPU counts is health's.
    for (const EventKind& kind : event_kinds()) {
      const bool named = std::ranges::find(rule.of, kind.name) != rule.of.end();
      if (kind.cls == EventClass::defect && kind.of_kernel_log) CHECK_MESSAGE(named, kind.name);
    }
    for (const char* kind : {"memory_uncorrected", "pcie_fatal", "drive_error"})
      CHECK_MESSAGE(std::ranges::find(rule.of, std::string(kind)) != rule.of.end(), kind);
  }
}

TEST_CASE("a shipped soak reads the hosts once more after its last cycle") {
  for (const char* name : {"soak-24h", "soak-72h", "soak-168h"}) {
    const Profile p = test::shipped(name);
    std::vector<std::string> readers;
    for (const Step& s : p.steps) {
      if (is_reading(p, s)) readers.push_back(s.id);
    }
    CHECK(readers == std::vector<std::string>{"soak-events", "soak-health"});
  }
}
