// A record is bound to the step that it stands for: whatever differs is named.
#include "campaign/bind.h"

#include <algorithm>

#include "campaign/command_line.h"
#include "small_campaign.h"

using namespace cb;
using namespace cb::test;

namespace {

// What stands in a journal of the job, and its document; both may be changed before they are asked.
struct Claimed {
  explicit Claimed(const std::string& name, Launcher launcher = Launcher::mpirun) {
    c.setup.campaign.launch.launcher = launcher;
    if (launcher == Launcher::none) c.setup.campaign.hosts.resize(1);
    key = c.key(launcher == Launcher::none ? name.substr(0, name.find('@')) : name);
    document = c.document(key.name);
    document.run.launcher = launcher_name(launcher);
    start.job = key.name;
    start.command = document.run.argv;
    sign();
  }
  // The fingerprint that a run gives the command as it stands now.
  void sign() {
    const Step& step = c.setup.campaign.profile.steps[key.step];
    Command command{.argv =
                        placeless(start.command, step.case_name, CampaignPaths::record(key.name))};
    if (c.setup.campaign.launch.launcher != Launcher::mpirun) command.environment = step.env;
    start.fingerprint = fingerprint(command, c.setup.tool, c.setup.campaign.profile.sha256);
  }
  std::string why() const {
    return misfit({c.setup.campaign, slots_of_hosts(c.setup.campaign), key,
                   c.setup.campaign.profile.steps[key.step], &c.setup.catalogue[1],
                   CampaignPaths::record(key.name), &start, c.setup.tool},
                  document)
        .value_or(Said())
        .text();
  }
  // As if the job had been started with this word in the place of that one.
  void replace(const std::string& word, const std::string& by) {
    for (auto* argv : {&document.run.argv, &start.command}) {
      const auto found = std::ranges::find(*argv, word);
      REQUIRE(found != argv->end());
      *found = by;
    }
    sign();
  }

  SmallCampaign c;
  JobKey key;
  Document document;
  JobEvent start;
};

const char* const kRateJob = "002-rate@n1";

}  // namespace

TEST_CASE("what the step asks for fits, with every launcher") {
  CHECK(Claimed(kRateJob).why() == "");
  CHECK(Claimed("003-all").why() == "");
  CHECK(Claimed(kRateJob, Launcher::srun).why() == "");
  CHECK(Claimed("003-all", Launcher::srun).why() == "");
  CHECK(Claimed(kRateJob, Launcher::none).why() == "");
}

TEST_CASE("the case and the resolved parameters") {
  Claimed c(kRateJob);
  c.document.records.push_back(c.document.records[0]);
  c.document.records[1].params.set("size", int64_t{4096});
  CHECK(c.why() == "");  // one record that agrees is enough
  c.document.records[0].params.set("size", int64_t{4096});
  CHECK(c.why() == "it was taken with size 4096, the step has 1K");
  c.document.records[1].case_name = "other";
  CHECK(c.why() == "it is of the case other, the step's case is fake");
}

TEST_CASE("a word for several values is not compared with the one that was taken") {
  Claimed c(kRateJob);
  c.c.setup.campaign.profile.steps[1].params["size"] = {"all"};
  c.replace("1K", "all");
  CHECK(c.why() == "");
  c.c.setup.campaign.profile.steps[1].params["size"] = {"4K"};
  c.replace("all", "4K");
  CHECK(c.why() == "it was taken with size 1024, the step has 4K");
}

TEST_CASE("a list that is written as one text has the values that it names") {
  Claimed c(kRateJob);
  c.c.setup.campaign.profile.steps[1].params["size"] = {"4K,1K"};
  c.replace("1K", "4K,1K");
  CHECK(c.why() == "");
  c.document.records[0].params.set("size", int64_t{2048});
  CHECK(c.why() == "it was taken with size 2048, the step has 4K,1K");
}

TEST_CASE("options of the command: other, missing, more") {
  Claimed other(kRateJob);
  other.document.records[0].params = {};
  other.document.run.argv = other.start.command;
  *std::ranges::find(other.document.run.argv, "1K") = "2K";
  CHECK(other.why() == "its command has --size 2K, the step has 1K");
  *std::ranges::find(other.document.run.argv, "2K") = "[redacted]";
  CHECK(other.why() == "no record names its size, the step has 1K");  // the options fit
  Claimed missing(kRateJob);
  std::erase(missing.document.run.argv, "--size");
  std::erase(missing.document.run.argv, "1K");
  CHECK(missing.why() == "its command has no --size, the step has 1K");
  Claimed more(kRateJob);
  more.document.run.argv.insert(more.document.run.argv.end(), {"--warmup", "0"});
  CHECK(more.why() == "its command has --warmup 0, the step has none");
  Claimed none(kRateJob);
  none.document.run.argv = {"clusterbench", "gemm"};
  CHECK(none.why() == "its command does not measure the case fake");
  Claimed journal(kRateJob);
  *std::ranges::find(journal.start.command, "1K") = "2K";
  journal.sign();
  CHECK(journal.why() == "the command in the journal has --size 2K, the step has 1K");
}

TEST_CASE("launcher and ranks") {
  Claimed c("003-all");
  c.document.run.launcher = "srun";
  CHECK(c.why() == "its launcher was srun, the campaign's is mpirun");
  c.document.run.launcher = "mpirun";
  c.document.run.ranks = 3;
  CHECK(c.why() == "3 ranks ran, the step has 2");
  Claimed one(kRateJob);
  one.document.run.launcher = "none";  // a single rank may not see its launcher
  CHECK(one.why() == "");
  Claimed slots("003-all");
  slots.c.setup.campaign.profile.steps[2].ranks_per_host = 0;
  slots.c.setup.campaign.hosts = {{"n1", 3}, {"n2", 5}};
  slots.document.run.ranks = 8;
  CHECK(slots.why() == "");
  slots.document.run.ranks = 2;
  CHECK(slots.why() == "2 ranks ran, the step has 8");
}

TEST_CASE("hosts") {
  Claimed other(kRateJob);
  other.replace("n1:1", "n2:1");
  CHECK(other.why() == "it ran on n2, not on n1");
  other.replace("n2:1", "n9:1");
  CHECK(other.why() == "it ran on n9, which is no host of the campaign");
  Claimed none(kRateJob, Launcher::none);
  none.document.run.hosts = {"n2"};
  CHECK(none.why() == "it ran on n2, not on n1");
  none.document.run.hosts = {"n1"};
  none.document.run.ranks = 2;
  CHECK(none.why() != "");
}

TEST_CASE("variables and fingerprint") {
  Claimed unset(kRateJob);
  unset.replace("NCCL_X=1", "NCCL_X=2");
  CHECK(unset.why() == "its command does not set NCCL_X to 1");
  for (const Launcher launcher : {Launcher::mpirun, Launcher::srun}) {
    Claimed c(kRateJob, launcher);
    c.start.fingerprint[0] = c.start.fingerprint[0] == 'a' ? 'b' : 'a';
    CHECK(c.why() == "the journal's fingerprint is not that of its command, profile and tool");
  }
}

TEST_CASE("without links in the journal its command is not looked at; with them it must be there") {
  Claimed c(kRateJob);
  c.start.fingerprint = "x";
  c.c.setup.campaign.chained = false;
  CHECK(c.why() == "");
  c.c.setup.campaign.chained = true;
  CHECK(misfit({c.c.setup.campaign, slots_of_hosts(c.c.setup.campaign), c.key,
                c.c.setup.campaign.profile.steps[c.key.step], &c.c.setup.catalogue[1],
                CampaignPaths::record(c.key.name), nullptr, c.c.setup.tool},
               c.document) == "the journal does not say that its job began");
}

TEST_CASE("figures without any parameter are not of a step that gives some") {
  Claimed c(kRateJob);
  c.document.records[0].params = {};
  c.document.records[0].params.set("seconds", 1.0);
  CHECK(c.why() == "");  // as a sweep, which names the size of its point and not its largest
  c.document.records[0].params = {};
  CHECK(c.why() == "no record names its size, the step has 1K");
  c.document.records[0].metrics.clear();  // what was skipped never came to its parameters
  CHECK(c.why() == "");
}

TEST_CASE("a metric has the unit that its case declares") {
  Claimed c(kRateJob);
  c.document.records[0].metrics[0].unit = "bits_per_second";
  CHECK(c.why() ==
        "its bytes_per_second is in bits_per_second, the case measures it in bytes_per_second");
}

TEST_CASE("figures are of hosts on which the job ran") {
  Claimed c(kRateJob);
  c.document.records[0].entities[0].host = "n2";
  CHECK(c.why() == "it has figures of n2, the job ran on n1");
  c.document.records[0].entities[0].host = "";  // the cluster as a whole
  CHECK(c.why() == "");
  c.document.run.hosts.clear();
  c.document.records[0].entities[0].host = "n1";
  CHECK(c.why() == "it has figures of n1, the job ran on ?");
}
