#include "cli/doctor_jobs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "campaign/launcher.h"
#include "cli/launched_child.h"
#include "cli/profile_source.h"
#include "core/document_lines.h"
#include "core/error.h"
#include "core/json/said_json.h"
#include "core/path_search.h"
#include "core/text.h"
#include "sys/inventory/inventory.h"

namespace cb {
namespace {

using nlohmann::json;

// Seconds for the checks of another host: two libraries there that hang, and mpirun.
constexpr double kHostPatience = 90;
constexpr double kJobPatience = 30;  // seconds for a job of two ranks on this host
// A driver that hangs has a row of its own.
const std::map<std::string, std::string> kWithoutGpus{{"CLUSTERBENCH_NVML_LIBRARY", "none"},
                                                      {"CLUSTERBENCH_CUDA_LIBRARY", "none"}};
// A round of `tcp` is given up after this; the whole of it has a limit of its own.
constexpr const char* kRoundDeadline = "20s";
constexpr int kListenerSeconds = 180;

// This program on the hosts, by the launcher.
class DocumentJob {
 public:
  DocumentJob(const Launching& launching, const std::vector<HostSlots>& hosts, int ranks_per_host,
              std::vector<std::string> words,
              const std::map<std::string, std::string>& environment = {}) {
    words.insert(words.begin(), startable_binary());
    words.insert(words.end(), {"--json", "-"});
    const auto command = [&] {
      return launch_command(launching.setup, hosts, ranks_per_host, environment, words);
    };
    by_hand_ = shell_text(command());
    words.back() = "document.json";  // no file: a name that no host has goes as lines
    words.insert(words.end(), {"--return", token_});
    command_ = command();
  }

  const Command& command() const { return command_; }
  // For a shell, with the document as it is.
  const std::string& by_hand() const { return by_hand_; }
  // The document among what was printed; nothing if it is not whole.
  std::optional<json> document_in(const std::string& out) const {
    DocumentLines lines(token_);
    std::istringstream in(out);
    for (std::string line; std::getline(in, line);) lines.take(line);
    if (lines.torn() || !lines.newest()) return std::nullopt;
    json document = json::parse(*lines.newest(), nullptr, false);
    return document.is_discarded() ? std::nullopt : std::optional(std::move(document));
  }

 private:
  std::string token_ = new_document_token();
  Command command_;
  std::string by_hand_;
};

Said how_it_ended(const LaunchedEnd& end) {
  return end.ok() ? said("doctor.no_document") : end.how;
}

DoctorCheck no_job(const Said& why, const Said& next) {
  return {"mpi", DoctorState::fail, said("doctor.no_job", file_in_path("mpirun"), why), next};
}

// Two ranks in one job: which library each has taken is a fact of the record.
DoctorCheck mpi_of(const json& document, const DoctorCheck& mpi) {
  const auto library = document.at("records").at(0).at("facts").at("library").get<std::string>();
  return {mpi.id, mpi.state, said("doctor.mpi", library, file_in_path("mpirun")), mpi.next};
}

DoctorCheck job_here(const DoctorCheck& mpi) {
  const Launching launching = choose_launching({.launcher = "mpirun"});
  const DocumentJob job(launching, launching.hosts, 2,
                        {"mpi", "--op", "all_reduce", "--size", "8", "--quiet"}, kWithoutGpus);
  const LaunchedEnd end = run_launched({job.command()}, kJobPatience).front();
  const std::optional<json> document = job.document_in(end.out);
  try {
    if (end.ok() && document && document->at("run").at("ranks") == 2) return mpi_of(*document, mpi);
  } catch (const json::exception&) {  // another version's document
  }
  return no_job(end.ok() ? said("doctor.no_ranks") : end.how,
                said("doctor.try_job", job.by_hand()));
}

DoctorState state_of(const std::string& name) {
  for (const DoctorState state : {DoctorState::ok, DoctorState::warn, DoctorState::not_checked}) {
    if (name == doctor_state_name(state)) return state;
  }
  return DoctorState::fail;
}

// The one host of its document, which was asked for as `name`.
DoctorHost host_of(const json& document, const std::string& name) {
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

// A launcher that fails although all is well there is no way to run a campaign. Exit code 1 is a
// check that failed there.
DoctorHost answer_of(const std::string& name, const DocumentJob& job, const LaunchedEnd& end) {
  Said why = how_it_ended(end);
  try {
    if (const std::optional<json> document = job.document_in(end.out)) {
      DoctorHost host = host_of(*document, name);
      const bool is_whole = end.ok() || (end.code == 1 && host_fails(host));
      if (is_whole && !host.checks.empty()) return host;
    }
  } catch (const std::exception& e) {  // another version's document, or another sentence in it
    if (end.ok()) why = Said(e.what());
  }
  return {name,
          {{"reached", DoctorState::fail, said("doctor.not_reached", why),
            said("doctor.reach", job.by_hand())}}};
}

bool is_measured(const json& document) {
  const json& records = document.at("records");
  return !records.empty() && std::ranges::all_of(records, [](const json& record) {
    return record.at("outcome") == "measured";
  });
}

DoctorCheck no_listeners(const DocumentJob& job, const Said& why) {
  return {"listeners", DoctorState::fail, said("doctor.no_listener", why),
          said("doctor.open_ports", job.by_hand())};
}

// One rank on each of the hosts that were asked for.
DoctorCheck exchange_of(const json& document, size_t asked, const DocumentJob& job) {
  const json& run = document.at("run");
  const auto names = run.at("hosts").get<std::set<std::string>>();
  if (names.size() < asked)
    return {"listeners", DoctorState::fail,
            said("doctor.fewer_hosts", asked, fmt::format("{}", fmt::join(names, ", "))),
            said("doctor.mend_hosts")};
  if (run.at("ranks") != asked || !is_measured(document))
    return no_listeners(job, said("doctor.no_document"));
  return {"listeners", DoctorState::ok, said("doctor.listeners", asked)};
}

}  // namespace

// The launcher is not asked for what no campaign takes: this host's name, or what a variable has.
DoctorCheck mpi_after_job(const DoctorCheck& mpi) {
  if (!is_host_name(host_name()))
    return no_job(said("doctor.odd_name", terminal_safe(host_name())), said("doctor.rename_host"));
  try {
    return job_here(mpi);
  } catch (const UsageError& e) {
    const Problem& problem = e.problems().list.front();
    return no_job(said("doctor.job_says", problem.where, problem.said()),
                  said("doctor.mend_mpirun_arguments"));
  }
}

std::vector<DoctorHost> hosts_asked(const Launching& launching,
                                    const std::vector<HostSlots>& hosts) {
  std::vector<DocumentJob> jobs;
  std::vector<Command> commands;
  for (const HostSlots& host : hosts) {
    jobs.emplace_back(launching, std::vector{host}, 1, std::vector<std::string>{"doctor"});
    commands.push_back(jobs.back().command());
  }
  const std::vector<LaunchedEnd> ends = run_launched(commands, kHostPatience);
  std::vector<DoctorHost> out;
  for (size_t i = 0; i < hosts.size(); ++i)
    out.push_back(answer_of(hosts[i].name, jobs[i], ends[i]));
  return out;
}

DoctorCheck listeners_of(const Launching& launching) {
  const size_t asked = launching.hosts.size();
  const DocumentJob job(launching, launching.hosts, 1,
                        {"tcp", "--test", "latency", "--schedule", "tournament", "--duration",
                         "200ms", "--round-deadline", kRoundDeadline, "--deadline",
                         fmt::format("{}s", kListenerSeconds), "--quiet"});
  const LaunchedEnd end = run_launched({job.command()}, kListenerSeconds + kHostPatience).front();
  const std::optional<json> document = job.document_in(end.out);
  try {
    if (end.ok() && document) return exchange_of(*document, asked, job);
  } catch (const json::exception&) {  // another version's document
  }
  return no_listeners(job, how_it_ended(end));
}

}  // namespace cb
