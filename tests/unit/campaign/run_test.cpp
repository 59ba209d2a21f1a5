// Campaigns that run: what is repeated, what is kept, who is left out.
#include "campaign/run.h"

#include <algorithm>

#include "small_campaign.h"

using namespace cb;
using namespace cb::test;

namespace {

namespace fs = std::filesystem;
using JobList = std::vector<std::string>;

// The jobs that the last session started.
JobList started_in(const SmallCampaign& c) {
  const Journal j = c.journal();
  JobList out;
  for (const auto& [job, events] : j.jobs) {
    for (const JobEvent& e : events) {
      if (!e.ended && e.session + 1 == j.sessions.size()) out.push_back(job);
    }
  }
  return out;
}

const JobList kEveryJob{"001-info@n1", "001-info@n2", "002-rate@n1", "002-rate@n2", "003-all"};

}  // namespace

TEST_CASE("a whole campaign: every job once, in its files, and a manifest") {
  SmallCampaign c;
  c.lay_all_ready();
  const auto outcomes = c.run();
  CHECK(outcomes.size() == 5);
  for (const std::string& job : kEveryJob) {
    const JobOutcome& o = outcomes.at(job);
    CHECK_MESSAGE(o.state == JobState::done, job << ": " << o.reason);
    CHECK_FALSE(o.kept);
    REQUIRE(o.document);
    CHECK(fs::exists(c.file(CampaignPaths::record(job))));
    CHECK_FALSE(fs::exists(c.partial(job, 1)));
  }
  CHECK(c.end.steps_ended == 3);
  CHECK_FALSE(c.end.interrupted);
  CHECK(started_in(c) == kEveryJob);
  CHECK(read_manifest(c.setup.paths).size() == 2 + 5 + 10);  // two of its own, records, logs
  CHECK_FALSE(fs::exists(c.setup.paths.scratch()));
  CHECK(c.journal().finished >= c.setup.campaign.started);
}

TEST_CASE("what is done is kept, and what failed is repeated") {
  SmallCampaign c;
  c.lay_all_ready();
  c.lay_ready("002-rate@n2", 1, "", 4, "clusterbench fake: no such device");
  const auto first = c.run();
  CHECK(first.at("002-rate@n2").state == JobState::failed);
  CHECK(first.at("002-rate@n2").reason.text().find("no such device") != std::string::npos);
  CHECK(first.at("003-all").state == JobState::done);
  c.lay_ready("002-rate@n2", 2, to_json_text(c.document("002-rate@n2", 2)));
  const auto second = c.run();
  CHECK(started_in(c) == JobList{"002-rate@n2"});
  CHECK(second.at("002-rate@n2").state == JobState::done);
  CHECK_FALSE(second.at("002-rate@n2").kept);
  CHECK(second.at("002-rate@n1").kept);
  CHECK(second.at("002-rate@n1").document.has_value());
  c.run();
  CHECK(started_in(c).empty());
  CHECK(c.load().warnings.empty());
}

TEST_CASE("a job is repeated that ended as incomplete, by another tool, or whose file changed") {
  SmallCampaign c;
  c.lay_all_ready();
  c.lay_ready("002-rate@n1", 1, to_json_text(c.document("002-rate@n1")), 3);
  c.lay_ready("002-rate@n2", 1, to_json_text(c.document("002-rate@n2")), 1);
  c.run();
  c.lay_all_ready(2);
  c.run();
  CHECK(started_in(c) == JobList{"002-rate@n1"});  // code 1 is an answer, 3 is none
  c.append("records/003-all.json", " ");
  c.run();
  CHECK(started_in(c) == JobList{"003-all"});
  c.setup.tool.commit = "def";
  for (const int attempt : {2, 3}) c.lay_all_ready(attempt);
  c.run();
  CHECK(started_in(c) == kEveryJob);
}

TEST_CASE("a host whose first step fails is left out of the later ones") {
  SmallCampaign c;
  c.lay_all_ready();
  c.lay_ready("001-info@n2", 1, "", 4, "ssh: unreachable");
  Document alone = c.document("003-all");
  alone.run.hosts = {"n1"};
  alone.run.ranks = 1;
  c.lay_ready("003-all", 1, to_json_text(alone));
  const auto outcomes = c.run();
  CHECK(started_in(c) == JobList{"001-info@n1", "001-info@n2", "002-rate@n1", "003-all"});
  CHECK(outcomes.at("002-rate@n2").state == JobState::missing);
  CHECK(outcomes.at("002-rate@n2").reason ==
        "left out, because step info failed on it (it ended with code 4: ssh: unreachable)");
  const std::vector<std::string> command = c.journal().last_start("003-all")->command;
  CHECK(std::ranges::find(command, "n1:1") != command.end());
}

TEST_CASE("with every host left out nothing is started") {
  SmallCampaign c;
  const auto outcomes = c.run();
  CHECK(started_in(c) == JobList{"001-info@n1", "001-info@n2"});
  CHECK(outcomes.at("001-info@n1").reason == "it wrote no record file");
  CHECK(outcomes.at("003-all").state == JobState::missing);
  CHECK(outcomes.at("003-all").reason == "every host was left out");
  c.run();  // an end that no process led to is journaled once
  CHECK(c.journal().jobs.at("003-all").size() == 1);
}

TEST_CASE("a step whose needs the inventories do not meet is not applicable") {
  SmallCampaign c(R"({
    "schema": "clusterbench.profile/1", "name": "small",
    "steps": [{"id": "info", "case": "info"},
              {"id": "rate", "case": "fake", "params": {"size": "1K"}, "needs": {"gpu": 1}},
              {"id": "all", "case": "fake", "params": {"size": "2K"}, "scope": "cluster",
               "needs": {"hosts": 3}},
              {"id": "two", "case": "fake", "params": {"size": "2K"},
               "needs": {"hosts": 2, "hosts_at_most": 2}},
              {"id": "one", "case": "fake", "params": {"size": "2K"},
               "needs": {"hosts_at_most": 1}}],
    "criteria": []})");
  c.lay_all_ready();
  Document with = c.document("001-info@n2");
  with.hosts[0].parts.push_back({"gpu", "0"});
  c.lay_ready("001-info@n2", 1, to_json_text(with));
  const auto outcomes = c.run();
  CHECK(outcomes.at("002-rate@n1").state == JobState::not_applicable);
  CHECK(outcomes.at("002-rate@n2").state == JobState::done);
  CHECK(outcomes.at("003-all").state == JobState::not_applicable);
  CHECK(outcomes.at("003-all").reason == "needs 3 hosts, has 2");
  CHECK(outcomes.at("004-two@n1").state == JobState::done);
  CHECK(outcomes.at("005-one@n1").reason == "is for at most 1 hosts, there are 2");
}

TEST_CASE("a job that is measured once more adds its samples, and keeps the earlier file") {
  SmallCampaign c;
  c.lay_all_ready();
  c.run();
  c.lay_all_ready(2);
  c.setup.again = {{"rate", "n1"}};
  const auto outcomes = c.run();
  CHECK(started_in(c) == JobList{"002-rate@n1"});
  CHECK(outcomes.at("002-rate@n1").document->records[0].metrics[0].samples.count() == 2);
  CHECK(fs::exists(c.file("records/002-rate@n1.json")));
  CHECK(fs::exists(c.file("records/002-rate@n1+2.json")));
  const Campaign loaded = c.load();
  CHECK(loaded.warnings.empty());
  const Job& job = loaded.jobs[2];
  CHECK(job.attempts.size() == 2);
  CHECK(job.document->records[0].metrics[0].samples.count() == 2);
  CHECK(job.file == "records/002-rate@n1+2.json");
}

TEST_CASE("a stop ends the run after the step under way") {
  SmallCampaign c;
  c.lay_all_ready();
  c.setup.executor.stop_signals = [] { return 1; };
  c.run();
  CHECK(c.end.interrupted);
  CHECK(c.end.steps_ended == 0);
  CHECK(c.journal().finished.empty());
  CHECK_FALSE(fs::exists(c.setup.paths.manifest()));
  CHECK(
      c.load().warnings ==
      std::vector<Said>{"the campaign has not ended: continue it with clusterbench run --resume"});
}

TEST_CASE("a document that a killed run left is taken in, and a torn one is removed") {
  SmallCampaign c;
  c.lay_all_ready();
  c.run();
  JournalWriter writer(c.setup.paths.journal(), sha256_hex(read_file(c.setup.paths.campaign())));
  for (const char* job : {"002-rate@n1", "002-rate@n2"}) {
    JobEvent start = *c.journal().last_start(job);
    start.attempt = 2;
    writer.job(start);
  }
  Document failed = c.document("002-rate@n1", 2);
  failed.records[0].checks[0].passed = false;
  write_file_atomically(c.partial("002-rate@n1", 2), to_json_text(failed));
  write_file_atomically(c.partial("002-rate@n2", 2), "{");
  c.lay_all_ready(3);
  c.run();
  CHECK(fs::exists(c.file("records/002-rate@n1+2.json")));
  CHECK_FALSE(fs::exists(c.partial("002-rate@n2", 2)));
  const Journal j = c.journal();
  REQUIRE(j.kept.contains("002-rate@n1"));
  CHECK(j.kept.at("002-rate@n1").at(0).bad.failed_checks == 1);
  CHECK_FALSE(j.kept.contains("002-rate@n2"));
  CHECK(started_in(c) == JobList{"002-rate@n1", "002-rate@n2"});
  const Campaign loaded = c.load();
  CHECK(std::ranges::any_of(loaded.jobs[2].document->records[0].checks,
                            [](const Check& check) { return !check.passed; }));
}

TEST_CASE("a version of the program that comes back adds to what it measured before") {
  SmallCampaign c;
  for (const int attempt : {1, 2, 3}) {
    c.setup.tool.commit = attempt == 2 ? "def" : "abc";
    c.lay_all_ready(attempt);
    c.run();
  }
  const Job job = c.load().jobs[2];
  REQUIRE(job.document);
  const Samples& s = job.document->records.at(0).metrics.at(0).samples;
  CHECK(std::vector<double>(s.list().begin(), s.list().end()) == std::vector<double>{1, 3});
  REQUIRE(job.attempts.size() == 3);
  for (size_t i = 0; i < 3; ++i) CHECK(job.attempts[i].number == static_cast<int>(i) + 1);
}
