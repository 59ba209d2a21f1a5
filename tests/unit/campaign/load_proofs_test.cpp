// Proofs as they are read back: only of jobs that are done, and only by what was journaled.
#include "campaign/load_proofs.h"

#include "small_campaign.h"

using namespace cb;
using namespace cb::test;

namespace {

struct ProvenCampaign : SmallCampaign {
  ProvenCampaign() {
    create_campaign(setup.paths, setup.campaign);
    std::filesystem::create_directories(setup.paths.proofs());
    for (const JobKey& k : keys())
      jobs.push_back({.step = setup.campaign.profile.steps[k.step].id,
                      .host = k.host,
                      .state = JobState::done});
  }
  void journal_end(Proof proof, int attempt = 1) const {
    JournalWriter writer(setup.paths.journal(), "");
    writer.proof({.job = "002-rate@n1",
                  .ended = true,
                  .attempt = attempt,
                  .at = "t",
                  .proof = std::move(proof),
                  .sha256 = "00"});
  }
  std::vector<Proof> proofs() const {
    return load_proofs({setup.paths, setup.campaign, journal(), {}}, keys(), jobs);
  }

  std::vector<Job> jobs;
};

}  // namespace

TEST_CASE("there is a proof for each job that is done, and one that was not made says so") {
  ProvenCampaign c;
  REQUIRE(c.proofs().size() == 5);
  CHECK(c.proofs()[2].step == "rate");
  CHECK(c.proofs()[2].host == "n1");
  CHECK(c.proofs()[2].state == ProofState::not_shown);
  CHECK(c.proofs()[2].reason == "it was not made");
  c.jobs[0].state = JobState::failed;
  c.jobs[1].state = JobState::not_applicable;
  REQUIRE(c.proofs().size() == 3);
  CHECK(c.proofs()[0].step == "rate");
}

TEST_CASE("what the journal says of a proof counts, where it is of that step and host") {
  ProvenCampaign c;
  c.journal_end({.step = "rate", .host = "n1", .state = ProofState::impossible, .reason = "r"});
  CHECK(c.proofs()[2].state == ProofState::impossible);
  CHECK(c.proofs()[2].reason == "r");
  CHECK(c.proofs()[3].reason == "it was not made");
  c.journal_end({.step = "rate", .host = "n2", .state = ProofState::impossible});
  CHECK(c.proofs()[2].reason == "the journal's proof is of another step or host");
  c.journal_end({.step = "all", .host = "n1", .state = ProofState::impossible});
  CHECK(c.proofs()[2].reason == "the journal's proof is of another step or host");
}

TEST_CASE("a proof is shown by its document alone: there, unchanged") {
  ProvenCampaign c;
  Proof shown{.step = "rate", .host = "n1", .state = ProofState::shown};
  shown.check = "data";
  shown.file = CampaignPaths::proof("002-rate@n1", 1);
  c.journal_end(shown);
  CHECK(c.proofs()[2].state == ProofState::not_shown);
  CHECK(c.proofs()[2].reason.text().find("its record file cannot be used") == 0);
  write_file_atomically(c.file(shown.file), "{}");
  CHECK(c.proofs()[2].state == ProofState::not_shown);
  CHECK(c.proofs()[2].reason == "its record file was changed after the run");
}

TEST_CASE("files among the proofs that the journal does not know, in order") {
  ProvenCampaign c;
  CHECK(foreign_proofs(c.setup.paths, c.journal()).empty());
  for (const char* name : {"proofs/b.json", "proofs/a.json", "proofs/002-rate@n1.json"})
    write_file_atomically(c.file(name), "{}");
  Proof known{.step = "rate", .host = "n1"};
  known.file = "proofs/002-rate@n1.json";
  c.journal_end(known);
  CHECK(foreign_proofs(c.setup.paths, c.journal()) ==
        std::vector<std::string>{"proofs/a.json", "proofs/b.json"});
}
