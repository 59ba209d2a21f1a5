// Campaigns in which hosts fail: they are taken out, spares step in, and nobody else suffers.
#include <algorithm>

#include "campaign/command_line.h"
#include "campaign/roster.h"
#include "small_campaign.h"

using namespace cb;
using namespace cb::test;

namespace {

using FaultNames = std::vector<std::string>;

constexpr const char* kFaultProfile = R"({
  "schema": "clusterbench.profile/1", "name": "faulty",
  "steps": [{"id": "info", "case": "info"},
            {"id": "rate", "case": "fake", "params": {"size": "1K"}, "retries": 1},
            {"id": "all", "case": "fake", "params": {"size": "2K"}, "scope": "cluster"}],
  "criteria": [],
  "delivery": {"hosts": 4, "replaced_at_most": 1, "why": "test",
               "source": {"kind": "contract", "ref": "test", "date": "2026-11"}}})";

struct FaultCampaign : SmallCampaign {
  FaultCampaign() : SmallCampaign(kFaultProfile) {
    setup.campaign.hosts = {{"n1", 1}, {"n2", 1}, {"n3", 1}, {"n4", 1}};
    setup.campaign.exclude = Exclude::failing;
  }
  void lay_all(int attempt, const std::vector<HostSlots>& hosts) const {
    lay_ready("003-all", attempt, to_json_text(document_of("003-all", attempt, hosts)));
  }
  FaultNames launched(const std::string& job) const {
    return launched_hosts(journal().last_start(job)->command, Launcher::mpirun);
  }
  Roster roster() const { return read_roster(setup.campaign, journal()); }
};

Document spoilt(Document d) {
  d.records[0].checks[0].passed = false;
  d.records[0].metrics.clear();
  return d;
}

}  // namespace

TEST_CASE("a failing host is tried again, then taken out; a spare makes up for all steps") {
  FaultCampaign c;
  c.setup.campaign.spares = {{"s1", 1}, {"s2", 1}};
  c.lay_all_ready();
  for (const int attempt : {1, 2}) c.lay_ready("002-rate@n3", attempt, "", 4, "clusterbench: no");
  c.lay_all(1, {{"n1", 1}, {"n2", 1}, {"s1", 1}, {"n4", 1}});
  const auto outcomes = c.run();
  CHECK(c.journal().last_start("002-rate@n3")->attempt == 2);
  CHECK(outcomes.at("002-rate@s1").state == JobState::done);
  CHECK(outcomes.at("001-info@s1").state == JobState::done);
  CHECK(c.launched("003-all") == FaultNames{"n1", "n2", "s1", "n4"});
  CHECK_FALSE(c.journal().jobs.contains("002-rate@s2"));
  const Campaign loaded = c.load();
  CHECK(loaded.warnings.empty());
  CHECK(loaded.hosts == FaultNames{"n1", "n2", "s1", "n4"});
  REQUIRE(loaded.excluded.size() == 1);
  CHECK(loaded.excluded[0].host == "n3");
  CHECK(loaded.excluded[0].by == "s1");
  CHECK(std::ranges::none_of(loaded.jobs, [](const Job& j) { return j.host == "n3"; }));
}

TEST_CASE("a spare that steps in late repeats the steps across all hosts") {
  FaultCampaign c;
  c.setup.campaign.spares = {{"s1", 1}};
  c.setup.campaign.profile.steps.push_back(c.setup.campaign.profile.steps[1]);
  c.setup.campaign.profile.steps.back().id = "last";
  c.lay_all_ready();
  c.lay_ready("004-last@n2", 1, to_json_text(spoilt(c.document("004-last@n2"))), 1);
  c.lay_all(2, {{"n1", 1}, {"s1", 1}, {"n3", 1}, {"n4", 1}});
  c.run();
  CHECK(c.launched("003-all") == FaultNames{"n1", "s1", "n3", "n4"});
  CHECK(c.journal().last_start("003-all")->attempt == 2);
  CHECK(c.journal().last_start("002-rate@n1")->attempt == 1);  // kept
}

TEST_CASE("without a spare the host is out, what is done stays, and it comes back if it answers") {
  FaultCampaign c;
  c.setup.campaign.exclude = Exclude::lost;
  c.lay_all_ready();
  for (const int attempt : {1, 2}) c.lay_ready("002-rate@n4", attempt, "", 255, "ssh: no route");
  SUBCASE("it is dead") { c.let_die("n4"); }
  SUBCASE("it dies while it is asked, and the launcher ends with 0") { c.let_die_silently("n4"); }
  c.lay_all(1, {{"n1", 1}, {"n2", 1}, {"n3", 1}});
  c.run();
  CHECK(c.launched("003-all") == FaultNames{"n1", "n2", "n3"});
  CHECK(c.roster().out("n4")->reason.text().find("does not answer since step rate") !=
        std::string::npos);
  CHECK(c.load().excluded.size() == 1);
  c.run();  // it is still dead: nothing is started
  CHECK(c.journal().last_start("003-all")->attempt == 1);
  c.revive("n4");
  c.lay_ready("002-rate@n4", 3, to_json_text(c.document("002-rate@n4", 3)));
  c.lay_all(2, c.setup.campaign.hosts);
  const auto outcomes = c.run();
  CHECK(outcomes.at("002-rate@n4").state == JobState::done);
  CHECK(c.launched("003-all") == FaultNames{"n1", "n2", "n3", "n4"});
  CHECK(c.load().excluded.empty());
}

TEST_CASE("a step across hosts is not measured on fewer of them than it needs") {
  FaultCampaign c;
  c.setup.campaign.profile.steps[2].needs = {{"hosts", 4}};
  c.lay_all_ready();
  for (const int attempt : {1, 2}) c.lay_ready("002-rate@n3", attempt, "", 4, "clusterbench: no");
  const auto outcomes = c.run();
  CHECK(outcomes.at("003-all").state == JobState::missing);
  CHECK(outcomes.at("003-all").reason.text() ==
        "needs 4 hosts, and of 4 that were asked for 3 take part");
  CHECK(c.journal().last_start("003-all") == nullptr);
  c.setup.campaign.profile.steps[2].needs = {{"hosts", 3}};
  c.lay_all(1, {{"n1", 1}, {"n2", 1}, {"n4", 1}});
  CHECK(c.run().at("003-all").state == JobState::done);
}

TEST_CASE("a step across all hosts that hangs is repeated without the suspect") {
  FaultCampaign c;
  c.lay_all_ready();
  Document hung = c.document("003-all");
  hung.records.clear();
  hung.run.partial = said("said.of", said("hang.deadline", "5 s"),
                          said("said.of", "n2 rank 1", said("hang.never")));
  c.lay_ready("003-all", 1, to_json_text(hung), 124);
  c.lay_all(2, {{"n1", 1}, {"n3", 1}, {"n4", 1}});
  const auto outcomes = c.run();
  CHECK(outcomes.at("003-all").state == JobState::done);
  CHECK(c.launched("003-all") == FaultNames{"n1", "n3", "n4"});
  CHECK(c.roster().out("n2")->reason.text().find("its watchdogs name it") != std::string::npos);
  CHECK(c.load().excluded.size() == 1);
}

TEST_CASE("a host that is gone is out, whoever the watchdogs name") {
  FaultCampaign c;
  c.lay_all_ready();
  c.lay_ready("003-all", 1, "", 1, "ORTE has lost communication");
  c.let_die("n1");
  c.lay_all(2, {{"n2", 1}, {"n3", 1}, {"n4", 1}});
  c.run();
  CHECK(c.launched("003-all") == FaultNames{"n2", "n3", "n4"});
  CHECK(c.roster().out("n1") != nullptr);
}

TEST_CASE("nobody is out where most fail, or where nobody may be taken out") {
  FaultCampaign c;
  c.lay_all_ready();
  for (const char* job : {"002-rate@n1", "002-rate@n2", "002-rate@n3"}) {
    for (const int attempt : {1, 2}) c.lay_ready(job, attempt, "", 4, "clusterbench: no library");
  }
  c.run();
  CHECK(c.launched("003-all").size() == 4);
  FaultCampaign never;
  never.setup.campaign.exclude = Exclude::never;
  never.lay_all_ready();
  for (const int attempt : {1, 2}) never.lay_ready("002-rate@n1", attempt, "", 4, "no");
  never.let_die("n1");
  never.run();
  CHECK(never.launched("003-all").size() == 4);
}

TEST_CASE("only the hosts that were asked for are measured again, and their figures are added") {
  FaultCampaign c;
  c.lay_all_ready();
  c.run();
  c.lay_all_ready(2);
  c.setup.only = {"n2"};
  c.run();
  const Journal j = c.journal();
  CHECK(j.last_start("002-rate@n2")->attempt == 2);
  CHECK(j.last_start("001-info@n2")->attempt == 2);
  CHECK(j.last_start("002-rate@n1")->attempt == 1);
  CHECK(j.last_start("003-all")->attempt == 1);
  CHECK(c.load().warnings.empty());
}

TEST_CASE("a killed run goes on with the hosts that it had") {
  FaultCampaign c;
  c.setup.campaign.spares = {{"s1", 1}};
  c.lay_all_ready();
  c.lay_ready("002-rate@n3", 1, to_json_text(spoilt(c.document("002-rate@n3"))), 1);
  c.lay_all(1, {{"n1", 1}, {"n2", 1}, {"s1", 1}, {"n4", 1}});
  c.run();
  const Campaign before = c.load();
  c.run();  // nothing is left to do
  CHECK(c.journal().last_start("003-all")->attempt == 1);
  CHECK(c.load().hosts == before.hosts);
  CHECK(before.excluded[0].found.size() == 1);
}
