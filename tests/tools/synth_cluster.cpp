// Writes the campaign directory of a made-up cluster with planted defects, to see whether report
// and gate find each of them, accuse nobody else, and how they grow with the number of hosts. All
// numbers are invented around published ones; nothing here was measured. The same arguments give
// the same bytes.
//   usage: synth_cluster DIR [--hosts 32] [--seed 1] [--healthy] [--findings] [--heavy]
//                        [--profile FILE]
// With --findings every record has a passed finding of each of its entities, as records of GPUs do;
// with --heavy its figures have 600 samples, and the job 20 variables, as of ten minutes of load.
// Prints one line per planted defect: the words that the conclusion must name.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "campaign/directory.h"
#include "campaign/journal_chain.h"
#include "campaign/launcher.h"
#include "campaign/plan.h"
#include "core/file.h"
#include "core/json/said_json.h"
#include "core/sha256.h"
#include "core/units.h"
#include "synth_cluster.h"

namespace fs = std::filesystem;
using namespace cb;

namespace {

struct Options {
  fs::path directory;
  int hosts = 32;
  uint64_t seed = 1;
  bool healthy = false;
  bool findings = false;
  bool heavy = false;
  std::string profile;
};

Options parse(int argc, char** argv) {
  Options out;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--healthy") {
      out.healthy = true;
    } else if (word == "--findings") {
      out.findings = true;
    } else if (word == "--heavy") {
      out.heavy = true;
    } else if (word.starts_with("--") && i + 1 < argc) {
      const std::string value = argv[++i];
      if (word == "--hosts") out.hosts = static_cast<int>(parse_integer(value).value_or(0));
      if (word == "--seed") out.seed = static_cast<uint64_t>(parse_integer(value).value_or(1));
      if (word == "--profile") out.profile = value;
    } else {
      out.directory = word;
    }
  }
  if (out.directory.empty() || out.profile.empty() || out.hosts < 2)
    throw UsageError("synth_cluster", "", "needs DIR, --profile FILE and two hosts or more");
  return out;
}

ToolInfo tool() {
  return {.version = "0.1.0",
          .commit = std::string(40, '0'),
          .dirty = false,
          .build = {{"compiler", "made up"}, {"cuda", "12.8"}, {"mpi", "Open MPI 4.1.4"}}};
}

class Campaigner {
 public:
  Campaigner(const Options& options, const Profile& profile)
      : paths_{options.directory},
        profile_(profile),
        cluster_(options.hosts, options.seed, options.healthy),
        findings_(options.findings),
        heavy_(options.heavy) {}

  void write() {
    CampaignFile file{.id = "5a17c0de00000001",
                      .started = synth::time_at(0),
                      .profile = profile_,
                      .tool = tool(),
                      .hosts = {},
                      .launch = {},
                      .command = {"clusterbench", "run", "h20-cluster.json", "--out", "DIR",
                                  "--hostfile", "hosts"}};
    file.launch.launcher = Launcher::mpirun;
    for (const std::string& host : cluster_.hosts()) file.hosts.push_back({host, 8});
    file.chained = true;
    create_campaign(paths_, file);
    previous_ = sha256_hex_of_file(paths_.campaign());
    fs::create_directories(paths_.records());
    fs::create_directories(paths_.logs());
    note({{"event", "session"},
          {"at", synth::time_at(0)},
          {"tool",
           {{"version", tool().version},
            {"commit", tool().commit},
            {"dirty", false},
            {"build", tool().build}}},
          {"command", file.command}});
    for (const JobKey& key : plan_jobs(profile_, cluster_.hosts())) write_job(file, key);
    note({{"event", "finished"}, {"at", synth::time_at(90000)}});
    put(paths_.journal(), journal_);
    write_manifest(paths_);
    for (const std::string& said : cluster_.planted()) std::cout << said << '\n';
  }

 private:
  static void put(const fs::path& path, const std::string& text) {
    std::ofstream out(path, std::ios::binary);
    if (!(out << text).flush()) throw Error("cannot write " + path.string());
  }

  void note(const nlohmann::json& event) {
    const std::string line = linked_line(event, previous_, {});
    journal_ += line + "\n";
    previous_ = sha256_hex(line);
  }

  // As run_campaign() would start it; no step of these profiles has a flag.
  static Command command_of(const CampaignFile& file, const JobKey& key,
                            const JobProgram& program) {
    const Step& step = file.profile.steps[key.step];
    std::vector<HostSlots> hosts;
    for (const HostSlots& h : file.hosts) {
      if (key.host.empty() || key.host == h.name) hosts.push_back(h);
    }
    return launch_command(file.launch, hosts, step.ranks_per_host, step.env,
                          step_arguments(step, CaseInfo{.name = step.case_name}, program));
  }

  static void add_findings(std::vector<Record>& records) {
    for (Record& record : records) {
      for (size_t entity = 0; entity < record.entities.size(); ++entity)
        record.checks.push_back({.name = "gpu", .passed = true, .entity = entity, .finding = true});
    }
  }

  // As many samples as seconds in ten minutes, with the same values.
  static void add_samples(std::vector<Record>& records) {
    constexpr size_t kSeconds = 600;
    for (Record& record : records) {
      for (Metric& metric : record.metrics) {
        const std::span<const double> own = metric.samples.list();
        if (own.empty()) continue;
        std::vector<double> all;
        while (all.size() < kSeconds) all.push_back(own[all.size() % own.size()]);
        metric.samples = Samples::from_list(std::move(all));
      }
    }
  }

  static std::map<std::string, std::string> environment() {
    std::map<std::string, std::string> out;
    for (int i = 0; i < 20; ++i)
      out.emplace(fmt::format("NCCL_MADE_UP_{}", i), "a value of some length, as of a path");
    return out;
  }

  void write_job(const CampaignFile& file, const JobKey& key) {
    const Step& step = profile_.steps[key.step];
    const fs::path record = CampaignPaths::record(key.name);
    const Command placed = command_of(
        file, key,
        {"clusterbench", "/srv/DIR/scratch", "/srv/DIR/" + record.string() + ".1.partial"});
    const Command placeless = command_of(file, key, {"clusterbench", "DIR/scratch", record});
    const auto program = std::ranges::find(placed.argv, "clusterbench");
    const int begin = 600 * static_cast<int>(key.step);
    nlohmann::json event = {{"event", "start"},
                            {"job", key.name},
                            {"attempt", 1},
                            {"at", synth::time_at(begin)},
                            {"fingerprint", fingerprint(placeless, tool(), profile_.sha256)},
                            {"command", placed.argv}};
    synth::Result result = cluster_.run(step, key.host, begin);
    if (findings_) add_findings(result.records);
    if (heavy_) add_samples(result.records);
    if (result.lost) return;  // the host left before this job: it never started
    note(event);
    event.erase("command");
    event["event"] = "end";
    event["at"] = synth::time_at(begin + 300);
    event["code"] = result.failure.empty() ? 0 : 4;
    event["state"] = result.failure.empty() ? "done" : "failed";
    if (!result.failure.empty()) {
      event["reason"] = result.failure.text();
      add_say(event, result.failure);
      put(paths_.root / CampaignPaths::log(key.name, "err"), result.failure.text() + "\n");
    } else {
      Document document{.tool = tool(),
                        .run = {.id = sha256_hex(key.name).substr(0, 16),
                                .started = synth::time_at(begin),
                                .ended = synth::time_at(begin + 300),
                                .argv = {program, placed.argv.end()},
                                .launcher = "mpirun",
                                .ranks = (step.ranks_per_host == 0 ? 8 : step.ranks_per_host) *
                                         (key.host.empty() ? cluster_.size() : 1),
                                .hosts = result.hosts},
                        .hosts = result.inventories,
                        .records = result.records};
      if (heavy_) document.run.environment = environment();
      const std::string text = to_json_text(document);
      put(paths_.root / CampaignPaths::record(key.name), text);
      event["sha256"] = sha256_hex(text);
      event["file"] = CampaignPaths::record(key.name);
    }
    note(event);
  }

  CampaignPaths paths_;
  const Profile& profile_;
  synth::Cluster cluster_;
  bool findings_, heavy_;
  std::string journal_, previous_;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = parse(argc, argv);
    const Profile profile = parse_resolved_profile(read_file(options.profile), options.profile);
    Campaigner(options, profile).write();
    return 0;
  } catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 2;
  }
}
