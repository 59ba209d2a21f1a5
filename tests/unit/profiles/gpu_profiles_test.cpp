// The profiles of GPU nodes against made-up nodes: one whose every number lies on the limit is
// accepted; a number just beyond its limit changes that criterion and nothing hides it; what one
// GPU of eight could not tell is incomplete.
#include <functional>

#include <doctest/doctest.h>

#include "judge/verdict.h"
#include "shipped.h"

using namespace cb;

namespace {

#ifdef CB_SANITIZED
const std::vector<std::string> kProfiles{"h200-sxm", "b200"};  // all of them take minutes there
#else
const std::vector<std::string> kProfiles{"a100-sxm-80g", "a800-sxm", "h100-sxm", "h800-sxm",
                                         "h200-sxm",     "h20",      "h20-3e",   "b200"};
#endif
constexpr double kCeiling = 1e12;
constexpr int kGpus = 8;

std::optional<double> minimum(const MetricRule& rule) {
  if (rule.min_of_ceiling) return *rule.min_of_ceiling * kCeiling;
  return rule.min;
}

// What is asked of a part relative to its fellows: equal parts meet it whatever their value.
bool of_fleet(const MetricRule& rule) { return rule.min_of_fleet || rule.max_of_fleet; }
constexpr double kAnyRate = 1e9;

// Points of the profile that are one record: step, and the parameters that select it.
using Point = std::pair<std::string, GivenParams>;

struct Wanted {
  std::map<std::string, double> metrics;  // name → the strictest limit
  std::vector<std::string> checks;
};

std::map<Point, Wanted> points_of(const Profile& profile) {
  std::map<Point, Wanted> out;
  for (const Criterion& c : profile.criteria) {
    if (const auto* rule = std::get_if<MetricRule>(&c.rule)) {
      // What grows is read before as well, whether it is judged there or not.
      if (!rule->since.empty()) out[{rule->since, rule->at}].metrics.try_emplace(rule->metric, 0);
      Wanted& w = out[{c.step, rule->at}];
      if (of_fleet(*rule)) {
        w.metrics.try_emplace(rule->metric, 0);
        continue;
      }
      const bool least = minimum(*rule).has_value();
      const double limit = least ? *minimum(*rule) : rule->max.value();
      const auto [at, fresh] = w.metrics.try_emplace(rule->metric, limit);
      if (!fresh) at->second = least ? std::max(at->second, limit) : std::min(at->second, limit);
    } else if (const auto* check = std::get_if<CheckRule>(&c.rule)) {
      out[{c.step, check->at}].checks.push_back(check->check);
    }
  }
  return out;
}

// Rates are limited by the fleet alone where their limit is 0.
bool has_limit_zero(const std::string& metric) { return !metric.ends_with("_per_second"); }

bool of_host(const std::string& metric) { return metric == "gpus" || metric == "gpus_on_pci"; }

Record record_of(const Point& point, const Wanted& wanted, const std::string& case_name) {
  Record r{.case_name = case_name};
  for (const auto& [name, values] : point.second) r.params.set(name, values.at(0));
  for (const auto& [name, limit] : wanted.metrics) {
    for (int gpu = 0; gpu < (of_host(name) ? 1 : kGpus); ++gpu) {
      const bool limited = limit != 0 || has_limit_zero(name);
      Metric m{.name = name, .unit = "count", .samples = {limited ? limit : kAnyRate}};
      m.entity = r.entity(of_host(name) ? Entity{"n1", "host", ""}
                                        : Entity{"n1", "gpu", std::to_string(gpu)});
      m.ceiling = Ceiling{kCeiling, "test"};
      r.metrics.push_back(std::move(m));
    }
  }
  // Every GPU record has the check of the telemetry.
  std::vector<std::string> checks = wanted.checks;
  if (case_name != "health") checks.push_back("gpu");
  for (const std::string& check : checks) {
    for (int gpu = 0; gpu < kGpus; ++gpu)
      r.checks.push_back(
          {.name = check, .passed = true, .entity = r.entity({"n1", "gpu", std::to_string(gpu)})});
  }
  return r;
}

// One node whose every number is just good enough.
Campaign node_on_the_limit(const Profile& profile) {
  Campaign c;
  c.hosts = {"n1"};
  c.inventories.push_back({.host = "n1"});
  const auto points = points_of(profile);
  for (const Step& step : profile.steps) {
    Document d;
    d.run.hosts = {"n1"};
    for (const auto& [point, wanted] : points) {
      if (point.first == step.id) d.records.push_back(record_of(point, wanted, step.case_name));
    }
    if (d.records.empty()) d.records.push_back({.case_name = step.case_name});
    Job job{.step = step.id, .host = "n1", .state = JobState::done, .file = step.id + ".json"};
    job.document = std::move(d);
    c.jobs.push_back(std::move(job));
  }
  return c;
}

const CriterionVerdict& verdict_on(const Judgement& j, const std::string& id) {
  for (const CriterionVerdict& v : j.criteria) {
    if (v.criterion->id == id) return v;
  }
  FAIL("no verdict on " << id);
  return j.criteria.front();
}

// The records of the criterion's step.
void each_record(Campaign& c, const std::string& step, const std::function<void(Record&)>& change) {
  for (Job& job : c.jobs) {
    if (job.step == step) {
      for (Record& r : job.document->records) change(r);
    }
  }
}

bool same_point(const Record& r, const GivenParams& at) {
  for (const auto& [name, values] : at) {
    if (!r.params.has(name) || r.params.text(name) != values.at(0)) return false;
  }
  return true;
}

// GPU 5 (the host for what is the host's) just beyond the limit of this criterion.
Campaign beyond(const Profile& profile, const Criterion& criterion, const MetricRule& rule) {
  Campaign c = node_on_the_limit(profile);
  each_record(c, criterion.step, [&](Record& r) {
    if (!same_point(r, rule.at)) return;
    for (Metric& m : r.metrics) {
      const bool meant = of_host(m.name) || r.entities[m.entity].id == "5";
      if (m.name != rule.metric || !meant) continue;
      if (of_fleet(rule)) {
        m.samples = {m.samples.summary().median * (*rule.min_of_fleet - 1e-6)};
        continue;
      }
      const double limit = minimum(rule) ? *minimum(rule) : *rule.max;
      const double step = limit == 0 ? 1e-6 : limit * 1e-6;
      const double from = rule.since.empty() ? 0 : m.samples.summary().median;
      m.samples = {minimum(rule) ? limit - step : from + limit + step};
    }
  });
  return c;
}

State beyond_state(const Criterion& c) {
  return c.severity == Severity::warn ? State::warn : State::fail;
}

}  // namespace

TEST_CASE("a node of which every number is just good enough is accepted") {
  for (const std::string& name : kProfiles) {
    CAPTURE(name);
    const Profile profile = test::shipped(name);
    const Judgement j = judge(node_on_the_limit(profile), profile, {}, "2026-11-21");
    for (const CriterionVerdict& v : j.criteria) {
      CAPTURE(v.criterion->id);
      CAPTURE(v.reason);
      if (std::holds_alternative<UniformRule>(v.criterion->rule))
        CHECK(v.state == State::not_applicable);  // one host is equal to itself
      else
        CHECK(v.state == State::pass);
    }
    CHECK(j.overall() == State::pass);
    CHECK(exit_code(j) == ExitCode::ok);
  }
}

TEST_CASE("every threshold is reached from the other side too, and names the GPU") {
  for (const std::string& name : kProfiles) {
    const Profile profile = test::shipped(name);
    for (const Criterion& criterion : profile.criteria) {
      const auto* rule = std::get_if<MetricRule>(&criterion.rule);
      if (rule == nullptr) continue;
      CAPTURE(name);
      CAPTURE(criterion.id);
      const Judgement j = judge(beyond(profile, criterion, *rule), profile, {}, "2026-11-21");
      const CriterionVerdict& v = verdict_on(j, criterion.id);
      CHECK(v.state == beyond_state(criterion));
      if (!of_host(rule->metric)) CHECK(v.worst.value().id == "5");
      const bool fails = criterion.severity == Severity::fail;
      if (fails) CHECK(exit_code(j) == ExitCode::not_accepted);
    }
  }
}

TEST_CASE("what one GPU of eight could not tell is incomplete") {
  for (const std::string& name : kProfiles) {
    const Profile profile = test::shipped(name);
    for (const Criterion& criterion : profile.criteria) {
      const auto* rule = std::get_if<MetricRule>(&criterion.rule);
      if (rule == nullptr || of_host(rule->metric)) continue;
      CAPTURE(name);
      CAPTURE(criterion.id);
      Campaign c = node_on_the_limit(profile);
      each_record(c, criterion.step, [&](Record& r) {
        if (!same_point(r, rule->at)) return;
        std::erase_if(r.metrics, [&](const Metric& m) {
          return m.name == rule->metric && r.entities[m.entity].id == "3";
        });
      });
      const CriterionVerdict v = verdict_on(judge(c, profile, {}, "2026-11-21"), criterion.id);
      CHECK(v.state == State::incomplete);
      CHECK(v.reason.find("n1:3") != std::string::npos);
    }
  }
}

TEST_CASE("a failed check of one GPU is not accepted") {
  for (const std::string& name : kProfiles) {
    const Profile profile = test::shipped(name);
    for (const Criterion& criterion : profile.criteria) {
      const auto* rule = std::get_if<CheckRule>(&criterion.rule);
      if (rule == nullptr) continue;
      CAPTURE(name);
      CAPTURE(criterion.id);
      Campaign c = node_on_the_limit(profile);
      each_record(c, criterion.step, [&](Record& r) {
        for (Check& check : r.checks) {
          if (check.name == rule->check && r.entities[check.entity].id == "5") check.passed = false;
        }
      });
      const Judgement j = judge(c, profile, {}, "2026-11-21");
      CHECK(verdict_on(j, criterion.id).state == State::fail);
      CHECK(exit_code(j) == ExitCode::not_accepted);
    }
  }
}

TEST_CASE("a node without GPUs is incomplete, not exempt") {
  const Profile profile = test::shipped("h20");
  Campaign c = node_on_the_limit(profile);
  for (Job& job : c.jobs) {
    for (Record& r : job.document->records) {
      r.metrics.clear();
      r.checks.clear();
      r.outcome = Skipped{"no GPU on n1"};
    }
  }
  const Judgement j = judge(c, profile, {}, "2026-11-21");
  CHECK(j.overall() == State::incomplete);
  CHECK(exit_code(j) == ExitCode::incomplete);
}

TEST_CASE("every threshold says where it comes from") {
  for (const std::string& name : kProfiles) {
    for (const Criterion& c : test::shipped(name).criteria) {
      CAPTURE(name);
      CAPTURE(c.id);
      CHECK_FALSE(c.source.ref.en.empty());
      CHECK_FALSE(c.why.en.empty());
      CHECK(c.source.ref.en.find("to be set") == std::string::npos);  // the base's place-holder
    }
  }
}
