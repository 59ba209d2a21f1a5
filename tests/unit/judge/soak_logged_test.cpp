// Errors that a counter tells on some hosts and the kernel's log on all.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/messages/said.h"
#include "verdict_fixture.h"

using namespace cb;
using namespace cb::test;

namespace {

// Three cycles of an hour on n1; its log was read in each, and nothing else.
Campaign logged_soak() {
  Campaign c;
  c.hosts = {"n1"};
  c.inventories = {{.host = "n1"}};
  for (size_t cycle = 1; cycle <= 3; ++cycle) {
    Record r = record({{{"n1", "gpu", "0"}, 100}});
    r.started = fmt::format("2026-11-21T0{}:00:00Z", cycle);
    r.ended = fmt::format("2026-11-21T0{}:30:00Z", cycle);
    r.metrics.push_back({.name = "kernel_messages", .unit = "count", .better = Better::lower});
    r.metrics.back().entity = r.entity({"n1", "host", ""});
    r.metrics.back().samples.add(10);
    Job job = done("n1", document({"n1"}, {r}));
    job.cycle = cycle;
    job.started = r.started;
    job.ended = r.ended;
    c.jobs.push_back(job);
  }
  return c;
}

State state_of(const Campaign& c, const char* kind) {
  Criterion criterion{.id = "c", .step = "s", .domain = "stability"};
  criterion.rule = SoakRule{.kind = SoakRule::Kind::events, .limit = 0, .of = {kind}};
  Profile p = profile({criterion});
  p.soak = Soak{{"s"}, 3 * 3600, 3600};
  return verdict(c, p).state;
}

}  // namespace

TEST_CASE("a host whose log was read has been watched for what the log tells, counters or not") {
  for (const char* kind : {"memory_uncorrected", "pcie_fatal", "drive_error"}) {
    Campaign c = logged_soak();
    CHECK(state_of(c, kind) == State::pass);
    c.jobs[1].document->records[0].notes = {
        said("events.kernel", "n1", kind, "2026-11-21T01:50:00Z", "b:5", "the kernel's line")};
    CHECK(state_of(c, kind) == State::fail);
    Campaign unread = logged_soak();
    for (Job& job : unread.jobs) job.document->records[0].metrics.pop_back();
    CHECK(state_of(unread, kind) == State::incomplete);
  }
  // No line of the log tells of a corrected error of a GPU.
  CHECK(state_of(logged_soak(), "gpu_memory_corrected") == State::incomplete);
}
