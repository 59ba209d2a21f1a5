// A campaign of two hosts that really runs, with a script in the place of mpirun: it takes the
// result documents that were laid ready for the jobs.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "campaign/journal.h"
#include "campaign/load.h"
#include "campaign/plan.h"
#include "campaign/run.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/profile.h"
#include "core/sha256.h"

namespace cb::test {

// Copies ready/JOB.ATTEMPT to what follows --json, says what ready/JOB.ATTEMPT.err has, and ends
// with the code in ready/JOB.ATTEMPT.code. A roll call is answered, unless ready/dead-HOST or
// ready/dies-HOST is there; each is noted in ready/calls.
inline constexpr const char* kScript = R"sh(#!/bin/sh
for last; do
  [ "$before" = --host ] && host=${last%%:*}
  [ "$last" = roll-call ] && call=1
  before=$last
done
if [ "$call" ]; then
  echo "$host" >>"$(dirname "$0")/ready/calls"
  [ ! -f "$(dirname "$0")/ready/dead-$host" ] || exit 1
  # As mpirun of Open MPI 5.0 does where a host dies meanwhile.
  [ -f "$(dirname "$0")/ready/dies-$host" ] || echo "$host answers: clusterbench"
  exit 0
fi
from=$(dirname "$0")/ready/$(basename "$last" .partial | sed 's/\.json\./.'/)
cat "$from.err" >&2 2>/dev/null
[ -f "$from" ] && cp "$from" "$last"
exit "$(cat "$from.code" 2>/dev/null || echo 0)"
)sh";

inline constexpr const char* kSmallProfile = R"({
  "schema": "clusterbench.profile/1", "name": "small",
  "steps": [{"id": "info", "case": "info"},
            {"id": "rate", "case": "fake", "params": {"size": "1K"}, "env": {"NCCL_X": "1"}},
            {"id": "all", "case": "fake", "params": {"size": "2K"}, "scope": "cluster"}],
  "criteria": []})";

class SmallCampaign {
 public:
  explicit SmallCampaign(const char* profile = kSmallProfile) {
    std::string name = (std::filesystem::temp_directory_path() / "cb-small-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    top_ = name;
    std::filesystem::create_directories(top_ / "ready");
    std::ofstream(top_ / "mpirun") << kScript;
    ::chmod((top_ / "mpirun").c_str(), 0755);
    old_path_ = std::getenv("PATH");
    ::setenv("PATH", (top_.string() + ":" + old_path_).c_str(), 1);
    setup.paths.root = top_ / "c";
    setup.tool = {.version = "1", .commit = "abc"};
    setup.binary = "cb";
    setup.command = {"clusterbench", "run", "small"};
    setup.catalogue = {{.name = "info", .learns_hosts = true},
                       {.name = "fake",
                        .params = {{"size", ParamType::size}},
                        .metrics = {{"bytes_per_second", "bytes_per_second"}}}};
    setup.executor.term_grace_seconds = 0.2;
    CampaignFile& file = setup.campaign;
    file.id = "0123456789abcdef";
    file.started = utc_now();
    file.profile = load_profile("small", [&](const std::string&) { return std::string(profile); });
    file.tool = setup.tool;
    file.hosts = {{"n1", 1}, {"n2", 1}};
    file.launch.launcher = Launcher::mpirun;
    file.command = setup.command;
    file.chained = true;
  }
  ~SmallCampaign() {
    ::setenv("PATH", old_path_.c_str(), 1);
    std::error_code ignored;
    std::filesystem::remove_all(top_, ignored);
  }
  SmallCampaign(const SmallCampaign&) = delete;
  SmallCampaign& operator=(const SmallCampaign&) = delete;

  const std::filesystem::path& root() const { return setup.paths.root; }
  std::filesystem::path file(const std::string& name) const { return root() / name; }

  // Of every host that may take part.
  std::vector<JobKey> keys() const {
    std::vector<std::string> names;
    for (const HostSlots& h : everybody()) names.push_back(h.name);
    return plan_jobs(setup.campaign.profile, names, !setup.campaign.spares.empty(),
                     setup.campaign.hosts.size());
  }
  std::vector<HostSlots> everybody() const {
    std::vector<HostSlots> out = setup.campaign.hosts;
    out.insert(out.end(), setup.campaign.spares.begin(), setup.campaign.spares.end());
    return out;
  }
  JobKey key(const std::string& job) const {
    for (const JobKey& k : keys()) {
      if (k.name == job) return k;
    }
    throw Error("no job " + job);
  }

  // What the job writes where all is well.
  Document document(const std::string& job, int attempt = 1) const {
    const JobKey k = key(job);
    if (k.host.empty())
      return document_of(job, attempt,
                         Roster(setup.campaign.hosts, setup.campaign.spares).hosts_of(k));
    for (const HostSlots& h : everybody()) {
      if (k.host == h.name) return document_of(job, attempt, {h});
    }
    throw Error("no host " + k.host);
  }
  Document document_of(const std::string& job, int attempt,
                       const std::vector<HostSlots>& hosts) const {
    const JobKey k = key(job);
    Document d{.tool = setup.tool};
    d.run = {.id = job, .started = utc_now(), .ended = utc_now()};
    d.run.argv = job_command(setup, k, hosts, partial(job, attempt)).argv;
    d.run.launcher = "mpirun";
    d.run.ranks = static_cast<int>(hosts.size());
    for (const HostSlots& h : hosts) {
      d.run.hosts.push_back(h.name);
      d.hosts.push_back({h.name, {{"system", "0"}}});
    }
    const Step& step = setup.campaign.profile.steps[k.step];
    Record r{.case_name = step.case_name, .started = d.run.started, .ended = d.run.ended};
    if (step.params.contains("size")) r.params.set("size", int64_t{k.step == 1 ? 1024 : 2048});
    Samples s;
    s.add(attempt);
    const size_t e = r.entity({hosts[0].name, "host", ""});
    r.metrics.push_back(
        {.name = "bytes_per_second", .unit = "bytes_per_second", .entity = e, .samples = s});
    r.checks.push_back({.name = "data", .passed = true, .entity = e});
    d.records = {r};
    return d;
  }
  std::filesystem::path partial(const std::string& job, int attempt) const {
    return root() / (CampaignPaths::record(job) + fmt::format(".{}.partial", attempt));
  }
  void lay_ready(const std::string& job, int attempt, const std::string& text, int code = 0,
                 const std::string& complaint = "") const {
    const std::string name = (top_ / "ready" / fmt::format("{}.{}", job, attempt)).string();
    std::filesystem::remove(name);
    if (!text.empty()) write_file_atomically(name, text);
    write_file_atomically(name + ".code", std::to_string(code));
    write_file_atomically(name + ".err", complaint);
  }
  // The host answers no roll call.
  void let_die(const std::string& host) const {
    std::ofstream(top_ / "ready" / ("dead-" + host)) << "";
  }
  // It answers none, and the launcher says that all is well.
  void let_die_silently(const std::string& host) const {
    std::ofstream(top_ / "ready" / ("dies-" + host)) << "";
  }
  void revive(const std::string& host) const {
    for (const char* how : {"dead-", "dies-"})
      std::filesystem::remove(top_ / "ready" / (how + host));
  }
  void lay_all_ready(int attempt = 1) const {
    for (const JobKey& k : keys())
      lay_ready(k.name, attempt, to_json_text(document(k.name, attempt)));
  }

  // The steps' outcomes by the job's name.
  std::map<std::string, JobOutcome> run() {
    if (!std::filesystem::exists(setup.paths.campaign()))
      create_campaign(setup.paths, setup.campaign);
    std::map<std::string, JobOutcome> out;
    RunObserver observer{[](const Step&) {},
                         [&](const Step&, const std::vector<JobOutcome>& outcomes, double) {
                           for (const JobOutcome& o : outcomes) out[o.key.name] = o;
                         },
                         [] {}};
    end = run_campaign(setup, observer);
    return out;
  }
  Campaign load() const { return load_campaign(root(), setup.catalogue); }
  Journal journal() const {
    return read_journal(setup.paths.journal(),
                        chain_root(setup.campaign, read_file(setup.paths.campaign())));
  }
  void append(const std::string& name, const std::string& text) const {
    std::ofstream(file(name), std::ios::app | std::ios::binary) << text;
  }

  RunSetup setup;
  RunEnd end;

 private:
  std::filesystem::path top_;
  std::string old_path_;
};

}  // namespace cb::test
