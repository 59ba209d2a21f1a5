// `clusterbench doctor`: whether this host or container, and others, can measure, and the next step
// where they cannot.
#include <algorithm>
#include <iostream>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "campaign/launcher.h"
#include "cli/commands.h"
#include "cli/doctor_checks.h"
#include "cli/documents_on_standard_output.h"
#include "cli/offers.h"
#include "cli/profile_source.h"
#include "cli/run_cmd_setup.h"
#include "core/error.h"
#include "core/file.h"
#include "core/json/json_text.h"
#include "core/json/said_json.h"
#include "core/text.h"
#include "sys/inventory/inventory.h"
#include "sys/os/child_process.h"

namespace cb {
namespace {

using nlohmann::json;

constexpr const char* kSchema = "clusterbench.doctor/1";
constexpr double kHostPatience = 60;  // seconds for the checks of another host, mpirun included
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

// The one host of a document that another process of this program printed.
DoctorHost host_of(const std::string& text) {
  const json document = json::parse(text);
  const json& host = document.at("hosts").at(0);
  DoctorHost out{.host = host.at("host").get<std::string>(), .checks = {}};
  for (const json& c : host.at("checks")) {
    DoctorCheck check{c.at("id").get<std::string>(), state_of(c.at("state").get<std::string>()),
                      with_say(c.at("seen").get<std::string>(), c)};
    if (c.contains("next")) check.next = with_say(c.at("next").get<std::string>(), c, "next_say");
    out.checks.push_back(std::move(check));
  }
  return out;
}

DoctorHost this_host() {
  const FsRoot fs;
  const HostInventory inventory = collect_inventory(fs, host_name());
  return {inventory.host, doctor_checks(doctor_facts(fs, inventory))};
}

// Runs the program there by the launcher. Its end and its standard output.
ChildResult run_there(const Launching& launching, const std::vector<HostSlots>& hosts,
                      const std::vector<std::string>& words, double seconds, std::string& command) {
  std::vector<std::string> program{startable_binary()};
  program.insert(program.end(), words.begin(), words.end());
  Command started = launch_command(launching.setup, hosts, 1, {}, program);
  command = shell_text(started);
  started.argv.insert(started.argv.begin(), "/usr/bin/env");
  return run_child(started.argv, child_environment({}, {}), seconds);
}

DoctorHost other_host(const Launching& launching, const HostSlots& host) {
  std::string command;
  const ChildResult end =
      run_there(launching, {host}, {"doctor", "--json", "-"}, kHostPatience, command);
  Said why = end.how.empty() ? Said("no document") : Said(end.how);
  try {
    // Exit code 1 is a check that failed there, and its document is whole.
    if (!end.out.empty()) return host_of(end.out);
  } catch (const std::exception& e) {
    why = Said(e.what());
  }
  return {host.name,
          {{"reached", DoctorState::fail, said("doctor.not_reached", why.text()),
            said("doctor.reach", command)}}};
}

// Every pair of hosts exchanges data over ports that the kernel chooses: a firewall between them is
// found by what it does.
DoctorHost between(const Launching& launching) {
  std::string command;
  const ChildResult end = run_there(launching, launching.hosts,
                                    {"tcp", "--test", "latency", "--schedule", "tournament",
                                     "--duration", "200ms", "--round-deadline", kRoundDeadline,
                                     "--deadline", fmt::format("{}s", kListenerSeconds), "--quiet"},
                                    kListenerSeconds + kHostPatience, command);
  DoctorHost out{fmt::format("{} … {}", launching.hosts.front().name, launching.hosts.back().name),
                 {}};
  if (end.ok)
    out.checks.push_back(
        {"listeners", DoctorState::ok, said("doctor.listeners", launching.hosts.size())});
  else
    out.checks.push_back({"listeners", DoctorState::fail, said("doctor.no_listener", end.how),
                          said("doctor.open_ports", command)});
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
  std::vector<DoctorHost> out;
  for (const HostSlots& host : launching.hosts)
    out.push_back(host.name == host_name() ? this_host() : other_host(launching, host));
  if (launching.hosts.size() > 1) out.push_back(between(launching));
  return out;
}

ExitCode doctor(const DoctorOptions& options) {
  const DocumentsOnStandardOutput guard("clusterbench doctor", {options.json});
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
