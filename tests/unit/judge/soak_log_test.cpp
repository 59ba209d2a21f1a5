// Reboots between cycles, and lines of the kernel's log that nobody has read.
#include "judge/soak_log.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/profile_soak.h"
#include "judge/soak.h"
#include "verdict_fixture.h"

using namespace cb;
using namespace cb::test;

namespace {

std::string minute(int m) { return fmt::format("2026-11-21T00:{:02}:00Z", m); }

Said boot(const char* id, int at) { return said("events.boot", "n1", id, minute(at)); }
Said log_of(int first, int last, int since) {
  return said("events.log", "n1", std::to_string(first), std::to_string(last), minute(since));
}
Said told(const char* kind, int at, int number) {
  return said("events.kernel", "n1", kind, minute(at), fmt::format("b:{}", number), "text");
}

// Cycles of ten minutes from minute 10 on; each reads the log at its begin.
Campaign readings(const std::vector<std::vector<Said>>& notes) {
  Campaign c;
  c.hosts = {"n1"};
  for (size_t i = 0; i < notes.size(); ++i) {
    Record r = record({{{"n1", "host", ""}, 100}});
    const size_t e = r.entity({"n1", "host", ""});
    Metric m{.name = "kernel_messages", .unit = "count", .entity = e};
    m.samples.add(1);
    r.metrics.push_back(m);
    r.started = r.ended = minute(static_cast<int>(10 + 10 * i));
    r.notes = notes[i];
    Job job = done("n1", document({"n1"}, {r}));
    job.cycle = i + 1;
    job.started = job.ended = r.started;
    c.jobs.push_back(std::move(job));
  }
  return c;
}

State state_of(const Campaign& c, SoakRule rule) {
  Criterion criterion{.id = "c", .step = "s", .domain = "stability"};
  criterion.rule = std::move(rule);
  Profile p = profile({criterion});
  p.soak = Soak{{"s"}, 3, 1};
  return verdict(c, p).state;
}

State events_of(const Campaign& c, const char* name) {
  return state_of(c, {.kind = SoakRule::Kind::events, .limit = 0, .of = {name}});
}

State interruptions_of(const Campaign& c) { return state_of(c, {.limit = 0}); }

}  // namespace

TEST_CASE("another boot than in the cycle before is a defect and an interruption") {
  const Campaign c = readings({{boot("a", 0)}, {boot("a", 0)}, {boot("b", 25)}});
  const auto events = soak_events(c);
  REQUIRE(events.size() == 1);
  CHECK(std::string(events[0].kind->name) == "reboot");
  CHECK(events[0].at == minute(25));
  CHECK(events[0].cycle == 3);
  CHECK(events[0].interrupts);
  CHECK(interruptions_of(c) == State::fail);
  CHECK(events_of(c, "defect") == State::fail);
  CHECK(events_of(c, "reboot") == State::fail);
}

TEST_CASE("one boot throughout is no event") {
  const Campaign c = readings({{boot("a", 0)}, {boot("a", 0)}});
  CHECK(soak_events(c).empty());
  CHECK(interruptions_of(c) == State::pass);
  CHECK(events_of(c, "reboot") == State::pass);
  CHECK(events_of(readings({{}, {}}), "reboot") == State::incomplete);  // nobody looked
}

TEST_CASE("a reboot that ended a job is one interruption and its cause") {
  Campaign c = readings({{boot("a", 0)}, {boot("b", 15)}});
  c.jobs[0].interruptions = {
      {.reason = said("end.code", 4), .started = minute(11), .ended = minute(14)}};
  const auto events = soak_events(c);
  REQUIRE(events.size() == 2);
  CHECK(events[0].interrupts);
  CHECK(events[0].cause.text().starts_with("n1: the host was booted again"));
  CHECK_FALSE(events[1].interrupts);
}

TEST_CASE("lines that the ring buffer lost between two cycles leave what the log tells open") {
  const auto lost = [](int first) {
    return readings({{log_of(0, 99, 0), boot("a", 0)}, {log_of(first, 300, 12), boot("a", 0)}});
  };
  CHECK(lost_log_lines(lost(100)).empty());  // the next line
  REQUIRE(lost_log_lines(lost(101)).size() == 1);
  CHECK(lost_log_lines(lost(101))[0].cycle == 2);
  CHECK(events_of(lost(100), "xid") == State::pass);
  CHECK(events_of(lost(101), "xid") == State::incomplete);
  CHECK(events_of(lost(101), "defect") == State::incomplete);
  CHECK(events_of(lost(100), "memory_uncorrected") == State::pass);
  CHECK(events_of(lost(101), "memory_uncorrected") == State::incomplete);
  CHECK(interruptions_of(lost(101)) == State::pass);
}

TEST_CASE("what was lost before the soak began is none of its matters") {
  CHECK(lost_log_lines(readings({{log_of(50, 99, 5)}})).empty());
  CHECK(lost_log_lines(readings({{log_of(50, 99, 15)}})).size() ==
        1);  // the soak began at minute 10
}

TEST_CASE("after a reboot the log begins with line 0") {
  const auto after = [](int first) {
    return readings({{log_of(0, 99, 0), boot("a", 0)}, {log_of(first, 300, 16), boot("b", 15)}});
  };
  CHECK(lost_log_lines(after(0)).empty());
  CHECK(lost_log_lines(after(1)).size() == 1);
}

TEST_CASE("lines that a record leaves out leave their kind open, and no other") {
  const auto left_out = [](int oldest_told) {
    return readings({{log_of(0, 9, 0)},
                     {log_of(0, 900, 0), said("events.left_out", "n1", "out_of_memory", 7),
                      told("out_of_memory", oldest_told, 800)}});
  };
  CHECK(lost_log_lines(left_out(10)).empty());  // the reading before told what is older
  REQUIRE(lost_log_lines(left_out(11)).size() == 1);
  CHECK(lost_log_lines(left_out(11))[0].kind == "out_of_memory");
  CHECK(events_of(left_out(11), "xid") == State::pass);
  // A record of an older version does not tell which kind.
  const Campaign old = readings({{said("events.more_lines", "n1", 7), told("lockup", 12, 5)}});
  CHECK(events_of(old, "xid") == State::incomplete);
}

TEST_CASE("a job that was stopped again and again may have hung") {
  const auto stopped = [](size_t times, int minutes) {
    Campaign c = readings({{}, {}});
    c.jobs[0].ended = minute(12);  // two minutes
    for (size_t i = 0; i < times; ++i)
      c.jobs[1].interruptions.push_back({.state = JobState::missing,
                                         .reason = said("end.interrupted_outside"),
                                         .started = minute(20),
                                         .ended = minute(20 + minutes)});
    return interruptions_of(c);
  };
  CHECK(stopped(2, 1) == State::pass);
  CHECK(stopped(3, 1) == State::incomplete);
  CHECK(stopped(1, 4) == State::pass);
  CHECK(stopped(1, 5) == State::incomplete);  // more than twice the longest
}

TEST_CASE("a class is left open where nobody could read the log in the last cycle") {
  Campaign c = readings({{log_of(0, 9, 0)}, {log_of(0, 9, 0)}});
  CHECK(events_of(c, "defect") == State::pass);
  CHECK(events_of(c, "xid") == State::pass);
  c.jobs[1].document->records[0].metrics.pop_back();  // unreadable since then
  CHECK(events_of(c, "defect") == State::incomplete);
  CHECK(events_of(c, "xid") == State::incomplete);
  c = readings({{log_of(0, 9, 0)}, {log_of(0, 9, 0)}});
  c.jobs[0].document->records[0].metrics.pop_back();  // the second reading tells of the first cycle
  CHECK(events_of(c, "defect") == State::pass);
}

TEST_CASE("a part that collapses in the last tenth of the cycles is not cleared by the slope") {
  const auto with = [](size_t bad) {
    Campaign c = readings(std::vector<std::vector<Said>>(24));
    for (size_t i = 0; i < c.jobs.size(); ++i) {
      Job& job = c.jobs[i];
      job.started = job.ended = job.document->records[0].started =
          fmt::format("2026-11-21T{:02}:00:00Z", i);
      Samples samples;
      samples.add(i + bad < 24 ? 100 : 50);
      job.document->records[0].metrics[0].samples = samples;
    }
    return state_of(c,
                    {.kind = SoakRule::Kind::decay, .limit = 0.05, .metric = "bytes_per_second"});
  };
  CHECK(with(0) == State::pass);
  CHECK(with(1) == State::pass);  // one cycle of two in the tenth
  CHECK(with(2) == State::incomplete);
  CHECK(with(5) == State::incomplete);
}
