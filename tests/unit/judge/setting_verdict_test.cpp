#include "judge/setting_verdict.h"

#include <cmath>

#include <doctest/doctest.h>

#include "core/messages/texts.h"

using namespace cb;

namespace {

const MetricDef kBus{"bus_bytes_per_second", "bytes_per_second", Better::higher, ""};

// One job: a bandwidth in GB/s and what each of two ranks tells of the proof.
Document job_of(double gigabytes, const std::string& proof, std::vector<double> told) {
  Document out;
  Record r{.case_name = "nccl"};
  r.params.set("op", std::string("all_reduce"));
  r.params.set("size", int64_t{1} << 30);
  const size_t cluster = r.entity({"", "cluster", ""});
  if (gigabytes > 0)
    r.metrics.push_back(
        {.name = kBus.name, .unit = kBus.unit, .entity = cluster, .samples = {gigabytes * 1e9}});
  for (size_t rank = 0; rank < told.size(); ++rank)
    r.metrics.push_back({.name = proof,
                         .unit = "share",
                         .entity = r.entity({"n1", "rank", std::to_string(rank)}),
                         .samples = {told[rank]}});
  out.records.push_back(std::move(r));
  return out;
}

const SettingRule& rule_of(const char* id) {
  for (const SettingRule& rule : known_settings()) {
    if (rule.id == id) return rule;
  }
  throw Error(std::string("no setting ") + id);
}

// Three blocks: the figures with the setting off, with it on, and of the control.
struct Jobs {
  std::vector<double> off{100, 101, 99}, on{150, 151, 150}, control{100, 100, 100};
  std::vector<double> told_off{0, 0}, told_on{1, 1};
};

SettingPoint judged(const SettingRule& rule, const Jobs& jobs) {
  std::vector<Document> documents;
  documents.reserve(9);
  std::vector<SweepRun> runs;
  for (size_t block = 0; block < jobs.off.size(); ++block) {
    documents.push_back(job_of(jobs.off[block], rule.proof, jobs.told_off));
    runs.push_back({0, block, false, &documents.back()});
    documents.push_back(job_of(jobs.on[block], rule.proof, jobs.told_on));
    runs.push_back({1, block, false, &documents.back()});
    documents.push_back(job_of(jobs.control[block], rule.proof, jobs.told_off));
    runs.push_back({0, block, true, &documents.back()});
  }
  const SettingVerdict verdict = judge_setting(rule, runs, kBus);
  REQUIRE(verdict.points.size() == 1);
  CHECK(verdict.state() == verdict.points[0].state);
  return verdict.points[0];
}

}  // namespace

TEST_CASE("the ratio is the geometric mean over the blocks, with its interval by hand") {
  const SettingPoint p = judged(rule_of("sharp"), {});
  CHECK(p.off == 100e9);
  CHECK(p.on == 150e9);
  // Logarithms of 1.5, 151/101 and 150/99: mean 0.407713, deviation 0.006956; t(0.975, 2)
  // = 4.302653.
  CHECK(*p.ratio == doctest::Approx(std::exp(0.407713)).epsilon(1e-5));
  const double half = 4.302653 * 0.0069561 / std::sqrt(3.0);
  CHECK(*p.low == doctest::Approx(*p.ratio * std::exp(-half)).epsilon(1e-4));
  CHECK(*p.high == doctest::Approx(*p.ratio * std::exp(half)).epsilon(1e-4));
  CHECK(p.state == State::pass);
  CHECK(say(Lang::en, p.why) == "× 1.5, at least × 1.3 is required; the log proves both sides");
}

TEST_CASE("both sides of the required ratio, and what lies within the interval") {
  Jobs jobs;
  jobs.on = {128, 129, 126};  // all below 1.3
  SettingRule rule = rule_of("sharp");
  rule.least_ratio = 1.3;
  CHECK(judged(rule, jobs).state == State::fail);
  jobs.on = {131, 130, 131};  // around it
  CHECK(judged(rule, jobs).state == State::incomplete);
  rule.least_ratio = 1.2;
  CHECK(judged(rule, jobs).state == State::pass);
}

TEST_CASE("what the log does not prove never passes") {
  const SettingRule& rule = rule_of("sharp");
  Jobs silent;
  silent.told_on = {};
  const SettingPoint untold = judged(rule, silent);
  CHECK(untold.proof_on == SettingProof::untold);
  CHECK(untold.state == State::incomplete);
  Jobs lost;
  lost.told_on = {1, 0};  // one rank without it
  const SettingPoint refuted = judged(rule, lost);
  CHECK(refuted.proof_on == SettingProof::refuted);
  CHECK(refuted.state == State::fail);
  CHECK(say(Lang::en, refuted.why).find("NCCL_COLLNET_ENABLE=1 was set") != std::string::npos);
  Jobs always;
  always.told_off = {1, 1};
  const SettingPoint on_anyway = judged(rule, always);
  CHECK(on_anyway.proof_off == SettingProof::refuted);
  CHECK(on_anyway.state == State::incomplete);
}

TEST_CASE("a setting under which a job fails does not pass by those that did not") {
  const SettingRule& rule = rule_of("sharp");
  const Document off = job_of(100, rule.proof, {0, 0}), on = job_of(200, rule.proof, {1, 1});
  const Document wrong = job_of(0, rule.proof, {1, 1});  // no figure
  const auto judged_with = [&](const Document* last) {
    std::vector<SweepRun> runs;
    for (size_t block = 0; block < 3; ++block) {
      runs.push_back({0, block, false, &off});
      runs.push_back({0, block, true, &off});
      runs.push_back({1, block, false, block == 2 ? last : &on});
    }
    return judge_setting(rule, runs, kBus);
  };
  CHECK(judged_with(&on).state() == State::pass);
  for (const Document* last : {static_cast<const Document*>(nullptr), &wrong}) {
    const SettingVerdict v = judged_with(last);
    CHECK(v.state() == State::incomplete);
    REQUIRE(v.points.size() == 1);
    CHECK(say(Lang::en, v.points[0].why).find("1 of 9 jobs gave no figure") == 0);
  }
}

TEST_CASE("a setting of which no ratio is asked is proved or not, whatever it gives") {
  Jobs slower;
  slower.on = {90, 91, 90};
  slower.told_on = {0, 3};  // PXN: some rank goes through another's NIC
  CHECK(judged(rule_of("pxn"), slower).state == State::pass);
  slower.told_on = {0, 0};
  CHECK(judged(rule_of("pxn"), slower).state == State::incomplete);
}

TEST_CASE("noise, one block and missing figures are incomplete") {
  SettingRule rule = rule_of("nvls");
  rule.least_ratio = 1.01;
  Jobs noisy;
  noisy.on = {104, 105, 103};
  noisy.control = {106, 107, 105};  // the same setting differs by more
  const SettingPoint p = judged(rule, noisy);
  CHECK(p.state == State::incomplete);
  CHECK(*p.control == doctest::Approx(0.06).epsilon(0.01));
  Jobs once;
  once.off = {100};
  once.on = {200};
  CHECK(judged(rule, once).state == State::incomplete);
  Jobs nothing;
  nothing.on = {0, 0, 0};
  const SettingPoint none = judged(rule, nothing);
  CHECK_FALSE(none.ratio);
  CHECK(none.state == State::incomplete);
  CHECK(judge_setting(rule, {}, kBus).state() == State::incomplete);
  CHECK(overall({}) == State::incomplete);
}

TEST_CASE("one failing setting fails all, one open one leaves it open") {
  const auto with = [](State state) {
    SettingVerdict v{.rule = rule_of("pxn"), .points = {}};
    v.points.push_back({.params = {}, .state = state, .why = {}});
    return v;
  };
  CHECK(overall({with(State::pass), with(State::pass)}) == State::pass);
  CHECK(overall({with(State::pass), with(State::incomplete)}) == State::incomplete);
  CHECK(overall({with(State::incomplete), with(State::fail)}) == State::fail);
}
