// What the shipped soaks do not let pass, and made-up soaks of which every number lies on its
// limit: they are accepted, and one event, a loss or a time beyond a limit changes its criterion.
#include <algorithm>
#include <map>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/error.h"
#include "core/profile_soak.h"
#include "judge/verdict.h"
#include "shipped.h"

using namespace cb;

namespace {

constexpr int kFewHosts = 6;
constexpr int kCycleSeconds = 3600;
constexpr const char* kOddHost = "n2";

// The counter by which a host or a GPU tells an event of that kind.
const std::map<std::string, std::string> kCounters{
    {"gpu_memory_uncorrected", "ecc_uncorrected_volatile"},
    {"gpu_memory_corrected", "ecc_corrected_volatile"},
    {"gpu_rows_remapped", "rows_remapped_correctable"},
    {"nvlink_error", "nvlink_errors"},
    {"pcie_error", "pcie_replays"},
    {"link_down", "link_downs"},
    {"link_error", "link_errors"},
    {"memory_corrected", "memory_corrected_errors"},
    {"throttling", "throttle_events"}};

std::string time_of(size_t cycle, int seconds) {
  const int all = static_cast<int>(cycle - 1) * kCycleSeconds + seconds;
  return fmt::format("2026-11-{:02}T{:02}:{:02}:{:02}Z", 21 + all / 86400, all / 3600 % 24,
                     all / 60 % 60, all % 60);
}

// A soak whose load jobs take `seconds` of each cycle, one after the other. The rates of kOddHost
// in `decaying` lose the share `loss` from the first cycle to the last.
struct MadeUpSoak {
  int hosts = kFewHosts;
  int seconds = 3500;
  std::string decaying = {};  // id of a criterion
  double loss = 0;
};

void add_value(Record& r, const Entity& entity, const std::string& name, double value) {
  Metric m{.name = name, .unit = "count", .entity = r.entity(entity)};
  m.samples.add(value);
  r.metrics.push_back(std::move(m));
}

void set_params(Record& r, const GivenParams& at) {
  for (const auto& [name, values] : at) r.params.set(name, values.at(0));
}

class SoakOfCriteria {
 public:
  SoakOfCriteria(const Profile& profile, const MadeUpSoak& how) : profile_(profile), how_(how) {
    for (const Step& s : profile_.steps) loads_ += is_load(s);
  }

  Campaign campaign() const {
    Campaign out{.profile = profile_};
    for (int i = 1; i <= how_.hosts; ++i) out.hosts.push_back(fmt::format("n{}", i));
    for (const std::string& host : out.hosts) {
      HostInventory inventory{.host = host};
      for (const char* kind : {"gpu", "nic", "nvme", "rdma"}) {
        for (int i = 0; i < 8; ++i)
          inventory.parts.push_back({.kind = kind, .id = std::to_string(i)});
      }
      out.inventories.push_back(std::move(inventory));
    }
    int place = 0;
    for (const Step& step : profile_.steps) {
      const bool all = step.scope == Scope::cluster;
      for (size_t cycle = 1; cycle <= cycles_of(step); ++cycle) {
        for (const std::string& host : all ? std::vector<std::string>{""} : out.hosts)
          out.jobs.push_back(job(step, host, all ? out.hosts : std::vector{host}, cycle, place));
      }
      place += is_load(step);
    }
    return out;
  }

 private:
  bool is_load(const Step& s) const { return profile_.soak->has(s.id) && !is_reading(profile_, s); }

  size_t cycles_of(const Step& s) const {
    if (!profile_.soak->has(s.id)) return 1;
    return profile_.soak->cycles() + (is_reading(profile_, s) ? 1 : 0);
  }

  Job job(const Step& step, const std::string& host, const std::vector<std::string>& hosts,
          size_t cycle, int place) const {
    const int each = how_.seconds / loads_;
    const int begin = is_load(step) ? place * each : 0;
    const bool last = place == loads_ - 1;
    const int end = !is_load(step) ? 0 : last ? how_.seconds : begin + each;
    Job out{.step = step.id, .host = host, .state = JobState::done, .file = step.id + ".json"};
    out.cycle = profile_.soak->has(step.id) ? cycle : 0;
    out.started = time_of(cycle, begin);
    out.ended = time_of(cycle, end);
    Document document;
    document.run.hosts = hosts;
    document.records = records(step, hosts, cycle);
    for (Record& r : document.records) {
      r.started = out.started;
      r.ended = out.ended;
    }
    out.document = std::move(document);
    return out;
  }

  // One record for each point that a criterion selects, with all checks of the step in each.
  std::vector<Record> records(const Step& step, const std::vector<std::string>& hosts,
                              size_t cycle) const {
    std::map<GivenParams, Record> out;
    for (const Criterion& c : profile_.criteria) {
      if (c.step != step.id) continue;
      for (const std::string& host : hosts) add_figures(out, c, host, cycle);
    }
    if (out.empty()) out[{}];
    // Where one point of a list is selected, the others are there too.
    const GivenParams selected = out.begin()->first;
    for (const auto& [name, values] : selected) {
      for (const std::string& value : step.params.at(name)) out[{{name, {value}}}];
    }
    for (auto& [at, r] : out) {
      r.case_name = step.case_name;
      set_params(r, at);
      for (const std::string& host : hosts) add_checks(r, step, host);
    }
    std::vector<Record> list;
    for (auto& entry : out) list.push_back(std::move(entry.second));
    return list;
  }

  void add_figures(std::map<GivenParams, Record>& out, const Criterion& c, const std::string& host,
                   size_t cycle) const {
    if (const auto* rule = std::get_if<MetricRule>(&c.rule))
      add_value(out[rule->at], {host, "host", ""}, rule->metric,
                rule->min ? *rule->min : *rule->max);
    const auto* soak = std::get_if<SoakRule>(&c.rule);
    if (soak == nullptr || soak->kind != SoakRule::Kind::decay) return;
    const double course =
        static_cast<double>(cycle - 1) / static_cast<double>(profile_.soak->cycles() - 1);
    const double lost = c.id == how_.decaying && host == kOddHost ? how_.loss : 0;
    add_value(out[soak->at], {host, "gpu", "0"}, soak->metric, 100 * (1 - lost * (course - 0.5)));
  }

  void add_checks(Record& r, const Step& step, const std::string& host) const {
    for (const Criterion& c : profile_.criteria) {
      const auto* rule = std::get_if<CheckRule>(&c.rule);
      if (rule == nullptr || c.step != step.id) continue;
      r.checks.push_back(
          {.name = rule->check, .passed = true, .entity = r.entity({host, "host", ""})});
    }
    if (step.case_name != "events") return;
    add_value(r, {host, "host", ""}, "kernel_messages", 1);
    for (const auto& kind : kCounters) add_value(r, {host, "gpu", "0"}, kind.second, 0);
  }

  const Profile& profile_;
  const MadeUpSoak& how_;
  int loads_ = 0;
};

Campaign soak_of(const Profile& profile, const MadeUpSoak& how = {}) {
  return SoakOfCriteria(profile, how).campaign();
}

State state_of(const Campaign& c, const Profile& profile, const std::string& id) {
  const Judgement j = judge(c, profile, {}, "2026-11-21");
  for (const CriterionVerdict& v : j.criteria) {
    if (v.criterion->id == id) return v.state;
  }
  FAIL("no verdict on " << id);
  return State::incomplete;
}

Job& job_in(Campaign& c, const std::string& step, size_t cycle) {
  for (Job& job : c.jobs) {
    if (job.step == step && job.cycle == cycle && (job.host.empty() || job.host == kOddHost))
      return job;
  }
  throw Error("no such job");
}

// Jobs of that many cycles ended badly.
void interrupt_cycles(Campaign& c, size_t count) {
  for (size_t cycle = 1; cycle <= count; ++cycle) {
    Job& job = job_in(c, "soak-burn-cpu", cycle);
    job.document.reset();
    job.state = JobState::failed;
    job.interruptions = {{.state = JobState::failed,
                          .reason = said("end.code", 4),
                          .started = job.started,
                          .ended = job.ended}};
  }
}

// The kernel tells the event, or a counter grows, while the last cycle's load runs.
void plant_event(Campaign& c, const EventKind& kind) {
  const size_t cycles = c.profile.soak->cycles();
  Record& r = job_in(c, "soak-events", cycles + 1).document->records.at(0);
  const auto counter = kCounters.find(kind.name);
  if (counter == kCounters.end()) {
    r.notes.push_back(
        said("events.kernel", kOddHost, kind.name, time_of(cycles, 60), "b:5", "a line"));
    return;
  }
  for (Metric& m : r.metrics) {
    if (m.name == counter->second) m.samples = {1};
  }
}

// The kinds of events that the rule names, by themselves or by their class. A finding is a failed
// check, which other criteria judge.
std::vector<EventKind> kinds_of(const SoakRule& rule) {
  std::vector<EventKind> out;
  for (const EventKind& kind : event_kinds()) {
    const bool named = std::ranges::any_of(rule.of, [&](const std::string& name) {
      return name == kind.name || name == event_class_name(kind.cls);
    });
    if (named && std::string_view(kind.name) != "finding") out.push_back(kind);
  }
  return out;
}

State bad_state(const Criterion& c) {
  return c.severity == Severity::warn ? State::warn : State::fail;
}

void check_decay(const Profile& profile, const Criterion& c, double limit) {
  const auto state = [&](double loss) {
    const MadeUpSoak how{.decaying = c.id, .loss = loss};
    return state_of(soak_of(profile, how), profile, c.id);
  };
  CHECK(state(limit * (1 - 1e-6)) == State::pass);
  CHECK(state(limit * (1 + 1e-6)) == bad_state(c));
}

void check_events(const Profile& profile, const Criterion& c, const SoakRule& rule) {
  const std::vector<EventKind> kinds = kinds_of(rule);
  CHECK_FALSE(kinds.empty());
  for (const EventKind& kind : kinds) {
    CAPTURE(kind.name);
    Campaign one = soak_of(profile);
    plant_event(one, kind);
    CHECK(state_of(one, profile, c.id) == bad_state(c));
  }
}

void check_failed_check(const Profile& profile, const Criterion& c, const std::string& check) {
  Campaign one = soak_of(profile);
  for (Record& r : job_in(one, c.step, 7).document->records) {
    for (Check& k : r.checks) {
      if (k.name == check && r.entities[k.entity].host == kOddHost) k.passed = false;
    }
  }
  CHECK(state_of(one, profile, c.id) == bad_state(c));
}

}  // namespace

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

TEST_CASE("a soak on its limits is accepted, and each event, loss or failed check beyond is not") {
  const Profile profile = test::shipped("soak-train");  // with the criteria of soak-24h
  const Campaign sound = soak_of(profile);
  const Judgement j = judge(sound, profile, {}, "2026-11-21");
  for (const CriterionVerdict& v : j.criteria) {
    CAPTURE(v.criterion->id);
    CAPTURE(v.reason);
    CHECK(v.state == (v.criterion->id == "soak.mtbi" ? State::not_applicable : State::pass));
  }
  CHECK(j.overall() == State::pass);
  size_t looked_at = 0;
  for (const Criterion& c : profile.criteria) {
    CAPTURE(c.id);
    const auto* rule = std::get_if<SoakRule>(&c.rule);
    const auto* check = std::get_if<CheckRule>(&c.rule);
    if (check != nullptr && profile.soak->has(c.step))
      check_failed_check(profile, c, check->check);
    else if (rule != nullptr && rule->kind == SoakRule::Kind::decay)
      check_decay(profile, c, rule->limit);
    else if (rule != nullptr && rule->kind == SoakRule::Kind::events)
      check_events(profile, c, *rule);
    else
      continue;
    ++looked_at;
  }
  // The others: preflight's, which node_profiles_test asks, and the two below.
  CHECK(looked_at == profile.criteria.size() - test::shipped("preflight").criteria.size() - 2);
}

TEST_CASE("a soak of few hosts allows no interruption, one of many asks for a time between them") {
  const Profile profile = test::shipped("soak-train");
  constexpr int kMost = 32;
  const auto state = [&](int hosts, int seconds, size_t interruptions, const char* id) {
    Campaign c = soak_of(profile, {.hosts = hosts, .seconds = seconds});
    interrupt_cycles(c, interruptions);
    return state_of(c, profile, id);
  };
  CHECK(state(kMost, 3500, 0, "soak.none") == State::pass);
  CHECK(state(kMost, 3500, 1, "soak.none") == State::fail);
  CHECK(state(kMost + 1, 3500, 1, "soak.none") == State::not_applicable);
  // 250 h at 95 % need 250 ln 20 = 748.93 h of 33 hosts in 24 cycles: 3404.2 s of each.
  CHECK(state(kMost + 1, 3405, 0, "soak.mtbi") == State::pass);
  CHECK(state(kMost + 1, 3404, 0, "soak.mtbi") == State::incomplete);
  // With 7 the upper bound of 749 h is 749 / 3.285 h, with 6 it is 749 / 2.613 h.
  CHECK(state(kMost + 1, 3405, 6, "soak.mtbi") == State::incomplete);
  CHECK(state(kMost + 1, 3405, 7, "soak.mtbi") == State::fail);
}
