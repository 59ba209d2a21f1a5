// `clusterbench doctor`: whether this host or container, and others, can measure, and the next step
// where they cannot.
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "campaign/hosts.h"
#include "campaign/launcher.h"
#include "cli/commands.h"
#include "cli/doctor_checks.h"
#include "cli/doctor_jobs.h"
#include "cli/documents_on_standard_output.h"
#include "cli/offers.h"
#include "cli/run_cmd_setup.h"
#include "core/document_lines.h"
#include "core/error.h"
#include "core/file.h"
#include "core/json/json_text.h"
#include "core/json/said_json.h"
#include "sys/inventory/inventory.h"
#include "sys/mpi/mpi.h"
#include "sys/os/dl_trial.h"

namespace cb {
namespace {

using nlohmann::json;

constexpr const char* kSchema = "clusterbench.doctor/1";

struct DoctorOptions {
  RunOptions run;
  std::string json;
  std::string token;  // of the document's lines on standard output; empty: it goes to the file
  std::string language = "en";
};

// A library may change or clear the environment of the process that opens it.
class KeptEnvironment {
 public:
  KeptEnvironment() {
    for (char** e = environ; e != nullptr && *e != nullptr; ++e) kept_.emplace_back(*e);
  }
  void bring_back() {
    ::clearenv();
    for (const std::string& entry : kept_) {
      const size_t equals = entry.find('=');
      if (equals != std::string::npos)
        ::setenv(entry.substr(0, equals).c_str(), entry.c_str() + equals + 1, 1);
    }
  }

 private:
  std::vector<std::string> kept_;
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

DoctorHost this_host() {
  const FsRoot fs;
  KeptEnvironment environment;
  const HostInventory inventory = collect_inventory(fs, host_name());
  DoctorHost out{inventory.host, doctor_checks(doctor_facts(fs, inventory))};
  environment.bring_back();
  const auto mpi = std::ranges::find(out.checks, "mpi", &DoctorCheck::id);
  if (mpi == out.checks.end() || mpi->state != DoctorState::ok) return out;
  if (mpi::launched()) return out;  // a rank of a job starts no other
  if (choose_launcher("auto", own_environment) == Launcher::mpirun)
    *mpi = mpi_after_job(*mpi);
  else
    mpi->seen = said("doctor.job_untried", mpi->seen);
  return out;
}

// This host looks at itself; the others are asked.
std::vector<DoctorHost> every_host(const Launching& launching) {
  std::vector<HostSlots> others = launching.hosts;
  std::erase_if(others, [](const HostSlots& host) { return host.name == host_name(); });
  const std::vector<DoctorHost> answers = hosts_asked(launching, others);
  auto answer = answers.begin();
  std::vector<DoctorHost> out;
  for (const HostSlots& host : launching.hosts)
    out.push_back(host.name == host_name() ? this_host() : *answer++);
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

// What is between the hosts.
DoctorHost between(const Launching& launching, const Said& hindrance) {
  const std::string name =
      fmt::format("{} … {}", launching.hosts.front().name, launching.hosts.back().name);
  if (hindrance.empty()) return {name, {listeners_of(launching)}};
  return {name, {{"listeners", DoctorState::not_checked, hindrance}}};
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
  std::vector<DoctorHost> out = every_host(launching);
  if (launching.hosts.size() > 1) out.push_back(between(launching, why_no_exchange(out)));
  return out;
}

// Lines go twice: one that the launcher damages costs nothing.
void write_document(const DoctorOptions& options, const std::string& text) {
  if (options.token.empty()) return write_file_atomically(options.json, text);
  const std::string lines = "\n" + document_lines(options.token, 1, text);
  write_file_atomically("-", lines + lines);
}

ExitCode doctor(const DoctorOptions& options) {
  if (!options.token.empty() && (options.json.empty() || !is_document_token(options.token)))
    throw UsageError("clusterbench doctor", "--return",
                     "is given by clusterbench doctor --hosts, with --json: leave it out");
  const DocumentsOnStandardOutput guard("clusterbench doctor",
                                        {options.token.empty() ? options.json : "-"});
  library_trial::begin();  // a broken library is a row, not the end of all rows
  const std::vector<DoctorHost> hosts = all_hosts(options);
  if (options.token.empty())
    std::cout << doctor_table(hosts, options.language == "zh" ? Lang::zh : Lang::en);
  if (!options.json.empty()) write_document(options, dump_json(document_of(hosts)));
  return std::ranges::any_of(hosts, host_fails) ? ExitCode::not_accepted : ExitCode::ok;
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
  sub->add_option(
         "--return", options->token,
         "of doctor --hosts: the document goes to standard output as lines with this token")
      ->group("")
      ->type_name("TOKEN");
  offer_only(sub->add_option("--lang", options->language, "language of the table [en]"),
             {"en", "zh"})
      ->type_name("en|zh");
  sub->callback([&action, options] { action = [options] { return doctor(*options); }; });
}

}  // namespace cb
