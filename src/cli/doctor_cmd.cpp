// `clusterbench doctor`: whether this host or container, and others, can measure, and the next step
// where they cannot.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "campaign/hosts.h"
#include "campaign/launcher.h"
#include "cli/commands.h"
#include "cli/doctor_checks.h"
#include "cli/documents_on_standard_output.h"
#include "cli/launched_child.h"
#include "cli/offers.h"
#include "cli/profile_source.h"
#include "cli/run_cmd_setup.h"
#include "core/error.h"
#include "core/file.h"
#include "core/fresh_directory.h"
#include "core/json/json_text.h"
#include "core/json/said_json.h"
#include "core/path_search.h"
#include "core/text.h"
#include "sys/inventory/inventory.h"
#include "sys/mpi/mpi.h"
#include "sys/os/dl_trial.h"

namespace cb {
namespace {

using nlohmann::json;

constexpr const char* kSchema = "clusterbench.doctor/1";
// Seconds for the checks of another host: two libraries there that hang, and mpirun.
constexpr double kHostPatience = 90;
constexpr double kJobPatience = 30;  // seconds for a job of two ranks on this host
// A driver that hangs has a row of its own.
const std::map<std::string, std::string> kWithoutGpus{{"CLUSTERBENCH_NVML_LIBRARY", "none"},
                                                      {"CLUSTERBENCH_CUDA_LIBRARY", "none"}};
// A round of `tcp` is given up after this; the whole of it has a limit of its own.
constexpr const char* kRoundDeadline = "20s";
constexpr int kListenerSeconds = 180;

struct DoctorOptions {
  RunOptions run;
  std::string json;
  std::string language = "en";
};

json check_json(const DoctorCheck& c) {
  json out{{"id", c.id}, {"state", doctor_state_name(c.state)}, {"seen", c.seen.text()}};
  add_say(out, c.seen);
  if (c.next.empty()) return out;
  out["next"] = c.next.text();
  add_say(out, c.next, "next_say");
  return out;
}

json document_of(const std::vector<DoctorHost>& hosts) {
  json list = json::array();
  for (const DoctorHost& host : hosts) {
    json checks = json::array();
    for (const DoctorCheck& c : host.checks) checks.push_back(check_json(c));
    list.push_back({{"host", host.host}, {"checks", checks}});
  }
  return {{"schema", kSchema}, {"hosts", list}};
}

DoctorState state_of(const std::string& name) {
  for (const DoctorState state : {DoctorState::ok, DoctorState::warn, DoctorState::not_checked}) {
    if (name == doctor_state_name(state)) return state;
  }
  return DoctorState::fail;
}

// The one host of a document that this program printed on the host that is asked for as `name`.
DoctorHost host_of(const std::string& text, const std::string& name) {
  const json document = json::parse(text);
  const json& host = document.at("hosts").at(0);
  const auto own = host.at("host").get<std::string>();
  DoctorHost out{.host = own == name ? name : fmt::format("{} ({})", name, own), .checks = {}};
  for (const json& c : host.at("checks")) {
    DoctorCheck check{c.at("id").get<std::string>(), state_of(c.at("state").get<std::string>()),
                      with_say(c.at("seen").get<std::string>(), c)};
    if (c.contains("next")) check.next = with_say(c.at("next").get<std::string>(), c, "next_say");
    out.checks.push_back(std::move(check));
  }
  return out;
}

// Runs this program on the hosts by the launcher.
Command command_there(const Launching& launching, const std::vector<HostSlots>& hosts,
                      int ranks_per_host, const std::vector<std::string>& words,
                      const std::map<std::string, std::string>& environment = {}) {
  std::vector<std::string> program{startable_binary()};
  program.insert(program.end(), words.begin(), words.end());
  return launch_command(launching.setup, hosts, ranks_per_host, environment, program);
}

// The ranks of the job whose document this is; 0: it is none.
int ranks_of(const std::string& document) {
  try {
    return json::parse(document).at("run").at("ranks").get<int>();
  } catch (const json::exception&) {
    return 0;
  }
}

DoctorCheck no_job(const Said& why, const Said& next) {
  return {"mpi", DoctorState::fail, said("doctor.no_job", file_in_path("mpirun"), why), next};
}

// The document of a job on this host. In a file, since a launcher that is told to mark lines spoils
// what is long on standard output; there where no file can be made.
class JobDocument {
 public:
  JobDocument() {
    try {
      folder_.emplace(std::filesystem::temp_directory_path(), "clusterbench-doctor");
    } catch (const std::exception&) {  // no directory that can be written to
    }
  }
  std::string name() const { return folder_ ? (folder_->path() / "job.json").string() : "-"; }
  std::string text(const LaunchedEnd& end) const {
    if (!folder_) return document_in(end.out);
    std::error_code none;
    return std::filesystem::exists(name(), none) ? read_file(name()) : "";
  }

 private:
  std::optional<FreshDirectory> folder_;
};

// What a job of two ranks on this host tells of its MPI: an mpirun and a library that opens are no
// job yet. Nothing if one runs.
std::optional<DoctorCheck> job_fault() {
  const Launching launching = choose_launching({.launcher = "mpirun"});
  const auto command = [&](const std::string& document) {
    return command_there(
        launching, launching.hosts, 2,
        {"mpi", "--op", "all_reduce", "--size", "8", "--quiet", "--json", document}, kWithoutGpus);
  };
  const JobDocument document;
  const LaunchedEnd end = run_launched({command(document.name())}, kJobPatience).front();
  if (end.ok && ranks_of(document.text(end)) == 2) return std::nullopt;
  return no_job(end.ok ? said("doctor.no_ranks") : end.how,
                said("doctor.try_job", shell_text(command("-"))));
}

// The launcher is not asked for what no campaign takes: this host's name, or what a variable has.
DoctorCheck with_a_job(const DoctorCheck& mpi) {
  if (!is_host_name(host_name()))
    return no_job(said("doctor.odd_name", terminal_safe(host_name())), said("doctor.rename_host"));
  try {
    return job_fault().value_or(mpi);
  } catch (const UsageError& e) {
    const Problem& problem = e.problems().list.front();
    return no_job(said("doctor.job_says", problem.where, problem.said()),
                  said("doctor.mend_mpirun_arguments"));
  }
}

DoctorHost this_host() {
  const FsRoot fs;
  const HostInventory inventory = collect_inventory(fs, host_name());
  DoctorHost out{inventory.host, doctor_checks(doctor_facts(fs, inventory))};
  const auto mpi = std::ranges::find(out.checks, "mpi", &DoctorCheck::id);
  if (mpi == out.checks.end() || mpi->state != DoctorState::ok) return out;
  if (mpi::launched()) return out;  // a rank of a job starts no other
  if (choose_launcher("auto", own_environment) == Launcher::mpirun)
    *mpi = with_a_job(*mpi);
  else
    mpi->seen = said("doctor.job_untried", mpi->seen);
  return out;
}

DoctorHost other_host(const HostSlots& host, const Command& command, const LaunchedEnd& end) {
  const std::string document = document_in(end.out);
  Said why = end.ok ? said("doctor.no_document") : end.how;
  try {
    // Exit code 1 is a check that failed there, and its document is whole.
    if (!document.empty()) return host_of(document, host.name);
  } catch (const std::exception& e) {
    if (end.ok) why = Said(e.what());
  }
  return {host.name,
          {{"reached", DoctorState::fail, said("doctor.not_reached", why),
            said("doctor.reach", shell_text(command))}}};
}

// Up to 32 others are asked at once.
std::vector<DoctorHost> asked_hosts(const Launching& launching) {
  std::vector<Command> commands;
  for (const HostSlots& host : launching.hosts) {
    if (host.name != host_name())
      commands.push_back(command_there(launching, {host}, 1, {"doctor", "--json", "-"}));
  }
  const std::vector<LaunchedEnd> ends = run_launched(commands, kHostPatience);
  std::vector<DoctorHost> out;
  size_t other = 0;
  for (const HostSlots& host : launching.hosts) {
    if (host.name == host_name()) {
      out.push_back(this_host());
    } else {
      out.push_back(other_host(host, commands[other], ends[other]));
      ++other;
    }
  }
  return out;
}

// The hosts of which a check with this id failed.
std::string failed_at(const std::vector<DoctorHost>& hosts, const char* id) {
  std::string out;
  for (const DoctorHost& host : hosts) {
    const auto fails = [&](const DoctorCheck& c) {
      return c.id == id && c.state == DoctorState::fail;
    };
    if (std::ranges::any_of(host.checks, fails)) out += (out.empty() ? "" : ", ") + host.host;
  }
  return out;
}

// Why data cannot go between the hosts, whatever their ports are; empty if it may.
Said why_no_exchange(const std::vector<DoctorHost>& hosts) {
  if (const std::string far = failed_at(hosts, "reached"); !far.empty())
    return said("doctor.ports_not_reached", far);
  const std::string without = failed_at(hosts, "mpi");
  return without.empty() ? Said() : said("doctor.ports_no_job", without);
}

// Every pair of hosts exchanges data over ports that the kernel chooses: a firewall between them is
// found by what it does.
DoctorHost between(const Launching& launching, const Said& hindrance) {
  DoctorHost out{fmt::format("{} … {}", launching.hosts.front().name, launching.hosts.back().name),
                 {}};
  if (!hindrance.empty()) {
    out.checks.push_back({"listeners", DoctorState::not_checked, hindrance});
    return out;
  }
  const Command command =
      command_there(launching, launching.hosts, 1,
                    {"tcp", "--test", "latency", "--schedule", "tournament", "--duration", "200ms",
                     "--round-deadline", kRoundDeadline, "--deadline",
                     fmt::format("{}s", kListenerSeconds), "--quiet"});
  const LaunchedEnd end = run_launched({command}, kListenerSeconds + kHostPatience).front();
  if (end.ok)
    out.checks.push_back(
        {"listeners", DoctorState::ok, said("doctor.listeners", launching.hosts.size())});
  else
    out.checks.push_back({"listeners", DoctorState::fail, said("doctor.no_listener", end.how),
                          said("doctor.open_ports", shell_text(command))});
  return out;
}

std::vector<DoctorHost> all_hosts(const DoctorOptions& options) {
  if (options.run.hosts.empty() && options.run.hostfile.empty()) return {this_host()};
  const Launching launching = choose_launching(options.run);
  const bool alone = launching.hosts.size() == 1 && launching.hosts[0].name == host_name();
  if (alone) return {this_host()};
  if (launching.setup.launcher == Launcher::none)
    throw UsageError("clusterbench doctor", "--hosts",
                     "needs mpirun or srun to reach other hosts: install Open MPI, or load its "
                     "module");
  std::vector<DoctorHost> out = asked_hosts(launching);
  if (launching.hosts.size() > 1) out.push_back(between(launching, why_no_exchange(out)));
  return out;
}

ExitCode doctor(const DoctorOptions& options) {
  const DocumentsOnStandardOutput guard("clusterbench doctor", {options.json});
  library_trial::begin();  // a broken library is a row, not the end of all rows
  const std::vector<DoctorHost> hosts = all_hosts(options);
  std::cout << doctor_table(hosts, options.language == "zh" ? Lang::zh : Lang::en);
  if (!options.json.empty()) write_file_atomically(options.json, dump_json(document_of(hosts)));
  const bool fails = std::ranges::any_of(hosts, [](const DoctorHost& host) {
    return std::ranges::find(host.checks, DoctorState::fail, &DoctorCheck::state) !=
           host.checks.end();
  });
  return fails ? ExitCode::not_accepted : ExitCode::ok;
}

}  // namespace

void add_doctor_command(CLI::App& app, Action& action) {
  CLI::App* sub =
      app.add_subcommand("doctor", "whether these hosts can measure, and what is in the way");
  const auto options = std::make_shared<DoctorOptions>();
  sub->group("Other");
  sub->footer("Examples:\n  clusterbench doctor\n  clusterbench doctor --hosts node[01-16]");
  const auto not_blank = [](const std::string& text) {
    return text.empty() ? "is empty: give a value, or leave the option out" : "";
  };
  sub->add_option("--hosts", options->run.hosts, "these hosts, and the ports between them")
      ->check(not_blank)
      ->type_name("LIST");
  sub->add_option("--hostfile", options->run.hostfile,
                  "hosts as in an Open MPI hostfile, a plain list or Slurm node lists")
      ->check(not_blank)
      ->type_name("FILE");
  offer(sub->add_option("--launcher", options->run.launcher, "auto, mpirun or srun [auto]"),
        launcher_names())
      ->type_name("NAME");
  sub->add_option("--json", options->json,
                  "write the document to this file, or - for standard output")
      ->check(not_blank)
      ->type_name("FILE");
  offer_only(sub->add_option("--lang", options->language, "language of the table [en]"),
             {"en", "zh"})
      ->type_name("en|zh");
  sub->callback([&action, options] { action = [options] { return doctor(*options); }; });
}

}  // namespace cb
