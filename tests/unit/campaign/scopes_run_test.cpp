// Campaigns with steps on pairs, groups and rails.
#include <algorithm>

#include "campaign/command_line.h"
#include "campaign/roster.h"
#include "judge/verdict.h"
#include "small_campaign.h"

using namespace cb;
using namespace cb::test;

namespace {

using ScopeNames = std::vector<std::string>;

std::string scope_profile(const std::string& scope, const std::string& size = "\"2K\"") {
  return fmt::format(R"({{
  "schema": "clusterbench.profile/1", "name": "scoped",
  "steps": [{{"id": "info", "case": "info"}},
            {{"id": "rate", "case": "fake", "params": {{"size": "1K"}}}},
            {{"id": "many", "case": "fake", "params": {{"size": {}}}, {}}}],
  "criteria": [{{"id": "rate", "step": "many", "domain": "host", "metric": "bytes_per_second",
                "min": 0.5, "why": "test",
                "source": {{"kind": "practice", "ref": "test", "date": "2026-11"}}}}],
  "delivery": {{"hosts": 4, "replaced_at_most": 1, "why": "test",
               "source": {{"kind": "contract", "ref": "test", "date": "2026-11"}}}}}})",
                     size, scope);
}

constexpr const char* kPairs = R"("scope": "pairs")";

struct ScopedCampaign : SmallCampaign {
  explicit ScopedCampaign(const std::string& profile = scope_profile(kPairs))
      : SmallCampaign(profile.c_str()) {
    setup.campaign.hosts = {{"n1", 1}, {"n2", 1}, {"n3", 1}, {"n4", 1}};
    setup.executor.fan_out = 8;
  }
  ScopeNames launched(const std::string& job) const {
    return launched_hosts(journal().last_start(job)->command, Launcher::mpirun);
  }
  // With figures of the pair as a whole.
  Document of_all(const std::string& job, int attempt, const std::vector<HostSlots>& hosts) const {
    Document d = document_of(job, attempt, hosts);
    d.records[0].entities[0] = {"", "cluster", ""};
    return d;
  }
  void lay_pairs(int attempt = 1) const {
    const Roster roster(setup.campaign.hosts, setup.campaign.spares);
    for (const JobKey& k : keys()) {
      if (!k.places.empty())
        lay_ready(k.name, attempt, to_json_text(of_all(k.name, attempt, roster.hosts_of(k))));
    }
  }
  State verdict() const {
    const Campaign c = load();
    return judge(c, c.profile, {}, "2026-11-25").overall();
  }
};

}  // namespace

TEST_CASE("every pair is a job of its own, judged by its own name") {
  ScopedCampaign c;
  c.lay_all_ready();
  c.lay_pairs();
  Document slow = c.of_all("003-many@pair-001-003", 1, {{"n1", 1}, {"n3", 1}});
  Samples low;
  low.add(0.25);
  slow.records[0].metrics[0].samples = low;
  c.lay_ready("003-many@pair-001-003", 1, to_json_text(slow));
  const auto outcomes = c.run();
  CHECK(outcomes.size() == 4 + 4 + 6);
  CHECK(c.launched("003-many@pair-002-004") == ScopeNames{"n2", "n4"});
  const Campaign loaded = c.load();
  CHECK(loaded.warnings.empty());
  const Judgement judgement = judge(loaded, loaded.profile, {}, "2026-11-25");
  const auto rate = std::ranges::find_if(judgement.criteria,
                                         [](const auto& v) { return v.criterion->id == "rate"; });
  REQUIRE(rate != judgement.criteria.end());
  CHECK(rate->state == State::fail);
  REQUIRE(rate->failing.size() == 1);
  CHECK(rate->failing[0].entity == Entity{"", "group", "pair-001-003 (n1, n3)"});
  CHECK(c.run().at("003-many@pair-001-003").kept);  // a second run repeats nothing
}

TEST_CASE("what all pairs of a group measured together is named by the group") {
  ScopedCampaign c;
  c.lay_all_ready();
  const Roster roster(c.setup.campaign.hosts, c.setup.campaign.spares);
  for (const JobKey& k : c.keys()) {
    if (k.places.empty()) continue;
    Document d = c.document_of(k.name, 1, roster.hosts_of(k));
    d.records[0].entities[0] = {"", "pairs", "all pairs"};
    c.lay_ready(k.name, 1, to_json_text(d));
  }
  c.run();
  const Campaign loaded = c.load();
  const auto of_one = std::ranges::find(loaded.jobs, "pair-001-003", &Job::group);
  REQUIRE(of_one != loaded.jobs.end());
  CHECK(of_one->document->records[0].entities[0] ==
        Entity{"", "pairs", "pair-001-003 (n1, n3) all pairs"});
}

TEST_CASE("a host that dies among pairs costs its own pairs only, and a spare makes up for them") {
  ScopedCampaign c;
  c.setup.campaign.spares = {{"s1", 1}};
  c.lay_all_ready();
  c.lay_pairs();
  // Turns follow each other: n2 dies in the first, with n3; the others of its pairs are not begun.
  c.lay_ready("003-many@pair-002-003", 1, "", 255, "ssh: no route");
  c.let_die("n2");
  for (const auto& [job, other] :
       {std::pair("003-many@pair-001-002", "n1"), std::pair("003-many@pair-002-004", "n4")})
    for (const int attempt : {1, 2})
      c.lay_ready(job, attempt, to_json_text(c.of_all(job, attempt, {{other, 1}, {"s1", 1}})));
  c.lay_ready("003-many@pair-002-003", 2,
              to_json_text(c.of_all("003-many@pair-002-003", 2, {{"s1", 1}, {"n3", 1}})));
  const auto outcomes = c.run();
  CHECK(std::ranges::all_of(outcomes, [](const auto& o) {
    return o.second.state == JobState::done || o.first.ends_with("@n2");
  }));
  CHECK(c.launched("003-many@pair-001-002") == ScopeNames{"n1", "s1"});
  CHECK(c.launched("003-many@pair-002-003") == ScopeNames{"s1", "n3"});
  CHECK(c.journal().last_start("003-many@pair-001-004")->attempt == 1);  // nobody else repeats
  CHECK(c.load().hosts == ScopeNames{"n1", "s1", "n3", "n4"});
  CHECK(c.verdict() == State::pass);
}

TEST_CASE("without a spare the pairs of the dead host are missing, with it as the reason") {
  ScopedCampaign c;
  c.lay_all_ready();
  c.lay_pairs();
  c.lay_ready("003-many@pair-002-003", 1, "", 255, "ssh: no route");
  c.let_die("n2");
  const auto outcomes = c.run();
  const JobOutcome& pair = outcomes.at("003-many@pair-001-002");
  CHECK(pair.state != JobState::done);
  CHECK(outcomes.at("003-many@pair-003-004").state == JobState::done);
  const Campaign loaded = c.load();
  const auto missing = std::ranges::find(loaded.jobs, "pair-002-004", &Job::group);
  REQUIRE(missing != loaded.jobs.end());
  CHECK(c.verdict() == State::incomplete);
}

TEST_CASE("the figures of another pair stand for none") {
  ScopedCampaign c;
  c.lay_all_ready();
  c.lay_pairs();
  // The job of n1 and n4 was started on n2 and n4: a document of these two is none of it.
  c.run();
  const std::string text = read_file(c.setup.paths.journal());
  const JobKey key = c.key("003-many@pair-001-004");
  const Document other = c.of_all("003-many@pair-002-004", 1, {{"n2", 1}, {"n4", 1}});
  JobEvent start = *c.journal().start_of(key.name, 1);
  start.command = c.journal().start_of("003-many@pair-002-004", 1)->command;
  JobEvent end = *c.journal().last(key.name);
  end.attempt = start.attempt = 2;
  end.file = "records/003-many@pair-001-004+2.json";
  end.sha256 = sha256_hex(to_json_text(other));
  write_file_atomically(c.file(end.file), to_json_text(other));
  JournalWriter writer(
      c.setup.paths.journal(),
      chain_root(c.setup.campaign, read_file(c.setup.paths.campaign())).campaign_sha256);
  writer.job(start);
  writer.job(end);
  const Campaign loaded = c.load();
  const auto job = std::ranges::find(loaded.jobs, "pair-001-004", &Job::group);
  REQUIRE(job != loaded.jobs.end());
  CHECK(job->state == JobState::failed);
  CHECK(job->reason.text().find("it ran on n2, not on pair-001-004") != std::string::npos);
}

TEST_CASE("groups of two: a group goes on with the spare in it") {
  ScopedCampaign c(scope_profile(R"("scope": "groups", "group_size": 2)"));
  c.lay_all_ready();
  c.lay_pairs();
  const auto outcomes = c.run();
  CHECK(outcomes.size() == 4 + 4 + 2);
  CHECK(c.launched("003-many@group-02") == ScopeNames{"n3", "n4"});
  CHECK(c.verdict() == State::pass);
  c.setup.only = {"n3"};
  c.lay_all_ready(2);
  c.lay_pairs(2);
  c.run();
  CHECK(c.journal().last_start("003-many@group-01")->attempt == 1);
  CHECK(c.journal().last_start("003-many@group-02")->attempt == 2);
}

TEST_CASE("rails: the names come from the inventories, and a host that lacks one is named") {
  const std::string profile =
      scope_profile(R"("scope": "rails", "rails": 2, "env": {"NCCL_IB_HCA": "={rdma}"})");
  const auto lay = [](const ScopedCampaign& c, size_t ports_of_n4) {
    c.lay_all_ready();
    for (const HostSlots& h : c.setup.campaign.hosts) {
      Document d = c.document("001-info@" + h.name);
      for (size_t i = 0; i < (h.name == "n4" ? ports_of_n4 : 2); ++i)
        d.hosts[0].parts.push_back({.kind = "rdma",
                                    .id = fmt::format("mlx5_{}", i),
                                    .attributes = {{"state", std::string("ACTIVE")}}});
      c.lay_ready("001-info@" + h.name, 1, to_json_text(d));
    }
    for (const char* job : {"003-many@rail-0", "003-many@rail-1"})
      c.lay_ready(job, 1, to_json_text(c.of_all(job, 1, c.setup.campaign.hosts)));
  };
  ScopedCampaign c(profile);
  lay(c, 2);
  c.run();
  CHECK(
      sets_variable(c.journal().last_start("003-many@rail-1")->command, "NCCL_IB_HCA", "=mlx5_1"));
  const Campaign loaded = c.load();
  CHECK(loaded.warnings.empty());
  const Judgement judgement = judge(loaded, loaded.profile, {}, "2026-11-25");
  CHECK(judgement.overall() == State::pass);
  ScopedCampaign less(profile);
  lay(less, 1);
  CHECK(less.run().at("003-many@rail-0").reason.text().starts_with("n4 has 1 active RDMA ports"));
  CHECK(less.verdict() == State::incomplete);
}
