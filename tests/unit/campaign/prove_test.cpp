// run --prove: a short job with a planted fault for every job that is done.
#include "campaign/prove.h"

#include <algorithm>

#include "campaign/command_line.h"
#include "small_campaign.h"

using namespace cb;
using namespace cb::test;

namespace {

struct ProvingCampaign : SmallCampaign {
  ProvingCampaign() {
    setup.catalogue[0].fault.why_not = "it measures nothing";
    setup.catalogue[1].params.push_back({"inject-fault", ParamType::integer});
    setup.catalogue[1].fault = {.planted = "a bit", .checks = {"data"}, .point_seconds = 2};
    lay_all_ready();
    run();
    for (const char* job : {"002-rate@n1", "002-rate@n2", "003-all"}) lay_wrong(job, false);
  }
  void plant_at(const std::string& where) {
    at = where;
    setup.catalogue[1].fault.at = at;
    for (const char* job : {"002-rate@n1", "002-rate@n2", "003-all"}) lay_wrong(job, false);
  }
  // What the job with the fault writes: its check fails, unless it is blind.
  Document wrong(const std::string& job) const {
    Document d = document(job);
    d.run.argv.insert(std::ranges::find(d.run.argv, "--json"), {"--inject-fault", at});
    d.records[0].checks[0].passed = false;
    return d;
  }
  void lay_wrong(const std::string& job, bool blind, int attempt = 1,
                 const std::string& check = "data") const {
    Document d = wrong(job);
    d.records[0].checks[0].name = check;
    d.records[0].checks[0].passed = blind;
    lay_ready(job, attempt, to_json_text(d), blind ? 0 : 1);
  }
  bool prove() {
    proofs.clear();
    kept.clear();
    return prove_campaign(setup, {[&](const Step& step, const std::vector<Proof>& made,
                                      bool all_kept, double seconds) {
                                    proofs[step.id] = made;
                                    kept[step.id] = all_kept;
                                    CHECK(seconds >= 0);
                                  },
                                  [] {}});
  }
  const Proof& of_n1() const { return proofs.at("rate").at(0); }

  std::string at = "0";
  std::map<std::string, std::vector<Proof>> proofs;
  std::map<std::string, bool> kept;
};

}  // namespace

TEST_CASE("each check finds its fault, and where none can be planted that is said") {
  ProvingCampaign c;
  REQUIRE(c.prove());
  REQUIRE(c.proofs.size() == 3);
  REQUIRE(c.proofs["info"].size() == 2);
  CHECK(c.proofs["info"][0].state == ProofState::impossible);
  CHECK(c.proofs["info"][0].reason == "it measures nothing");
  REQUIRE(c.proofs["rate"].size() == 2);
  for (const Proof& p : c.proofs["rate"]) {
    CHECK(p.state == ProofState::shown);
    CHECK(p.check == "data");
    CHECK(p.planted == "a bit");
    CHECK_FALSE(p.blind);
    CHECK(p.file == CampaignPaths::proof("002-rate@" + p.host, 1));
    CHECK(std::filesystem::exists(c.file(p.file)));
  }
  CHECK(c.proofs["rate"][1].host == "n2");
  CHECK(c.proofs["all"].at(0).host.empty());
  CHECK_FALSE(c.kept["rate"]);
  CHECK(c.kept["info"]);
  CHECK(std::filesystem::exists(c.setup.paths.manifest()));
  CHECK_FALSE(c.journal().finished.empty());
}

TEST_CASE("a job with a fault runs on the hosts of the job that it is about, and no others") {
  ProvingCampaign c;
  REQUIRE(c.prove());
  const Journal journal = c.journal();
  const auto hosts = [&](const std::string& job) {
    const ProofEvent* start = journal.proofs.at(job).start_of(1);
    REQUIRE(start != nullptr);
    return launched_hosts(start->command, Launcher::mpirun);
  };
  using Names = std::vector<std::string>;
  CHECK(hosts("002-rate@n1") == Names{"n1"});
  CHECK(hosts("002-rate@n2") == Names{"n2"});
  CHECK(hosts("003-all") == Names{"n1", "n2"});
}

TEST_CASE("what is proven stays so, byte by byte; what was changed is proven again") {
  ProvingCampaign c;
  REQUIRE(c.prove());
  const std::string journal = read_file(c.setup.paths.journal());
  REQUIRE(c.prove());
  CHECK(read_file(c.setup.paths.journal()) == journal);
  CHECK(c.kept == std::map<std::string, bool>{{"all", true}, {"info", true}, {"rate", true}});
  write_file_atomically(c.file("proofs/002-rate@n1.json"), "{}");
  c.lay_wrong("002-rate@n1", false, 2);
  REQUIRE(c.prove());
  CHECK(c.kept == std::map<std::string, bool>{{"all", true}, {"info", true}, {"rate", false}});
  CHECK(c.proofs["rate"].size() == 2);
  CHECK(std::filesystem::exists(c.file("proofs/002-rate@n1+2.json")));
  CHECK_FALSE(std::filesystem::exists(c.file("proofs/002-rate@n2+2.json")));
}

TEST_CASE("a proof that does not count is made again") {
  ProvingCampaign c;
  Document other = c.wrong("002-rate@n1");
  other.records[0].params.set("size", int64_t{4096});
  c.lay_ready("002-rate@n1", 1, to_json_text(other), 1);
  REQUIRE(c.prove());
  c.lay_wrong("002-rate@n1", false, 2);
  REQUIRE(c.prove());
  CHECK_FALSE(c.kept["rate"]);
  CHECK(c.of_n1().host == "n2");
  CHECK(c.proofs["rate"].at(1).file == CampaignPaths::proof("002-rate@n1", 2));
  REQUIRE(c.prove());
  CHECK(c.kept["rate"]);
}

TEST_CASE("a check that does not see its fault is blind, and stays it") {
  ProvingCampaign c;
  c.lay_wrong("002-rate@n1", true);
  REQUIRE(c.prove());
  CHECK(c.of_n1().blind);
  CHECK(c.of_n1().state == ProofState::not_shown);
  CHECK(c.of_n1().reason == "no check of it failed");
  c.lay_wrong("002-rate@n1", false, 2);
  REQUIRE(c.prove());
  CHECK(c.proofs["rate"].at(0).blind);
}

TEST_CASE("where another check failed nobody could look for the fault, and it is planted again") {
  for (const char* at : {"0", "-1"}) {
    CAPTURE(at);
    ProvingCampaign c;
    c.plant_at(at);
    Document d = c.wrong("002-rate@n1");
    d.records[0].checks[0].passed = true;
    Check broken = d.records[0].checks[0];
    broken.name = "transfer";
    broken.passed = false;
    d.records[0].checks.push_back(broken);
    c.lay_ready("002-rate@n1", 1, to_json_text(d), 1);
    REQUIRE(c.prove());
    CHECK(c.of_n1().state == ProofState::not_shown);
    CHECK_FALSE(c.of_n1().blind);
    CHECK(c.of_n1().reason ==
          "check transfer failed where a fault was planted, and none that looks for the fault");
    c.lay_wrong("002-rate@n1", false, 2);
    REQUIRE(c.prove());
    CHECK(c.proofs["rate"].at(1).state == ProofState::shown);
    CHECK(c.proofs["rate"].at(1).file == CampaignPaths::proof("002-rate@n1", 2));
  }
}

TEST_CASE("a point beside it that broke is planted again too, and hides no blind one") {
  for (const bool blind : {false, true}) {
    CAPTURE(blind);
    ProvingCampaign c;
    c.plant_at("-1");
    Document d = c.wrong("002-rate@n1");
    d.records.resize(2, d.records[0]);
    d.records[1].checks[0].name = "transfer";
    if (blind) d.records.push_back(d.records[0]);
    if (blind) d.records[2].checks[0].passed = true;
    c.lay_ready("002-rate@n1", 1, to_json_text(d), 1);
    REQUIRE(c.prove());
    CHECK(c.of_n1().state == ProofState::not_shown);
    CHECK(c.of_n1().blind == blind);
  }
}

TEST_CASE("a point that ended with an error shows nothing, a skipped one is not asked") {
  for (const bool skipped : {false, true}) {
    CAPTURE(skipped);
    ProvingCampaign c;
    c.plant_at("-1");
    Document d = c.wrong("002-rate@n1");
    d.records.resize(2, d.records[0]);
    d.records[1].metrics.clear();
    d.records[1].checks.clear();
    d.records[1].outcome = Errored{"n1", "gone"};
    if (skipped) d.records[1].outcome = Skipped{said("fault.no_io")};
    c.lay_ready("002-rate@n1", 1, to_json_text(d), 1);
    REQUIRE(c.prove());
    CHECK((c.of_n1().state == ProofState::shown) == skipped);
    CHECK_FALSE(c.of_n1().blind);
  }
}

TEST_CASE("a document with a blind point is none that shows a fault, whatever its journal says") {
  ProvingCampaign c;
  c.plant_at("-1");
  Document d = c.wrong("002-rate@n1");
  d.records.resize(2, d.records[0]);
  c.lay_ready("002-rate@n1", 1, to_json_text(d), 1);
  REQUIRE(c.prove());
  CHECK(c.of_n1().state == ProofState::shown);
  // As a program that asked for one failed check alone would have journaled it.
  const std::string file = CampaignPaths::proof("002-rate@n1", 1);
  const std::string before = sha256_hex(read_file(c.file(file)));
  d.records[1].checks[0].passed = true;
  write_file_atomically(c.file(file), to_json_text(d));
  std::string journal = read_file(c.setup.paths.journal());
  journal.replace(journal.find(before), before.size(), sha256_hex(read_file(c.file(file))));
  write_file_atomically(c.setup.paths.journal(), journal);
  c.lay_wrong("002-rate@n1", false, 2);
  REQUIRE(c.prove());
  CHECK(c.of_n1().state == ProofState::not_shown);
  CHECK(c.of_n1().blind);
  CHECK(c.of_n1().reason == "a point has the fault, and no check of it failed");
  CHECK(c.kept["rate"]);
}

TEST_CASE("a fault in every point is found in every point, or the check is blind") {
  for (const char* at : {"0", "-1"}) {
    CAPTURE(at);
    ProvingCampaign c;
    c.plant_at(at);
    Document d = c.wrong("002-rate@n1");
    d.records.push_back(d.records[0]);
    d.records[1].checks[0].passed = true;
    c.lay_ready("002-rate@n1", 1, to_json_text(d), 1);
    REQUIRE(c.prove());
    const bool everywhere = std::string(at) == "-1";
    CHECK(c.of_n1().blind == everywhere);
    CHECK((c.of_n1().state == ProofState::shown) == !everywhere);
    if (everywhere) CHECK(c.of_n1().reason == "a point has the fault, and no check of it failed");
  }
}

TEST_CASE("a job that measured nothing proves nothing, and is made again") {
  ProvingCampaign c;
  c.lay_ready("002-rate@n1", 1, "", 4, "clusterbench: oops");
  Document gone = c.document("002-rate@n2");
  gone.records[0].outcome = Errored{"n2", "gone"};
  gone.records[0].metrics.clear();
  gone.records[0].checks.clear();
  c.lay_ready("002-rate@n2", 1, to_json_text(gone));
  Document empty = c.document("003-all");
  empty.records.clear();
  c.lay_ready("003-all", 1, to_json_text(empty));
  REQUIRE(c.prove());
  CHECK(c.of_n1().reason == "it ended with code 4: clusterbench: oops");
  CHECK(c.of_n1().state == ProofState::not_shown);
  CHECK_FALSE(c.of_n1().blind);
  CHECK(c.proofs["rate"][1].reason == "n2: gone");
  CHECK_FALSE(c.proofs["rate"][1].blind);
  CHECK(c.proofs["all"][0].reason == "it wrote no record");
  for (const char* job : {"002-rate@n1", "002-rate@n2", "003-all"}) c.lay_wrong(job, false, 2);
  REQUIRE(c.prove());
  for (const auto& entry : c.proofs) {
    for (const Proof& p : entry.second)
      CHECK(p.state == (entry.first == "info" ? ProofState::impossible : ProofState::shown));
  }
}

TEST_CASE("a document that is none, or absent, is said to be") {
  ProvingCampaign c;
  c.lay_ready("002-rate@n1", 1, "{");
  c.lay_ready("002-rate@n2", 1, "");
  REQUIRE(c.prove());
  CHECK(c.of_n1().reason.text().find("its record file cannot be used") == 0);
  CHECK(c.of_n1().file.empty());
  CHECK(c.proofs["rate"][1].reason == "it wrote no record file");
}

TEST_CASE("only jobs that are done are proven, and documents of unfinished proofs are removed") {
  ProvingCampaign c;
  JobEvent start = *c.journal().last_start("002-rate@n2");
  start.attempt = 2;
  JournalWriter writer(c.setup.paths.journal(), "");
  writer.job(start);
  writer.proof({.job = "003-all", .attempt = 1, .at = "t", .command = {"cb"}});
  std::filesystem::create_directories(c.setup.paths.proofs());
  write_file_atomically(c.file("proofs/003-all.json"), "{}");
  c.lay_wrong("003-all", false, 2);
  REQUIRE(c.prove());
  CHECK(c.proofs["rate"].size() == 1);
  CHECK(c.of_n1().host == "n1");
  CHECK_FALSE(std::filesystem::exists(c.file("proofs/003-all.json")));
  CHECK(c.proofs["all"].at(0).file == "proofs/003-all+2.json");
}

TEST_CASE("how long the proofs take: by step, as many at once as the fan-out allows") {
  ProvingCampaign c;
  const auto jobs = plan_proofs(c.setup);
  REQUIRE(jobs.size() == 5);
  CHECK(jobs[0].why_none == "it measures nothing");
  CHECK(jobs[2].step.params.at("inject-fault") == std::vector<std::string>{"0"});
  CHECK(jobs[2].seconds == 3);
  CHECK(proofs_seconds(jobs, 1) == 9);
  CHECK(proofs_seconds(jobs, 2) == 6);
  CHECK(proofs_seconds(jobs, 9) == 6);
  CHECK(proofs_seconds({}, 1) == 0);
}

TEST_CASE("proofs are wanted by this run, or by an earlier one") {
  ProvingCampaign c;
  CHECK_FALSE(wants_proofs(c.setup));
  c.setup.prove = true;
  CHECK(wants_proofs(c.setup));
  c.setup.prove = false;
  c.prove();
  CHECK(wants_proofs(c.setup));
}

TEST_CASE("a stop leaves the proofs open") {
  ProvingCampaign c;
  c.setup.executor.stop_signals = [] { return 1; };
  CHECK_FALSE(c.prove());
  CHECK(c.proofs.empty());
  c.setup.executor.stop_signals = [] { return 0; };
  CHECK(c.prove());
}
