#include "campaign/launcher.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <unistd.h>

#include "core/env_names.h"
#include "core/secrets.h"
#include "core/suggest.h"
#include "core/text.h"

namespace cb {
namespace {

using Arguments = std::vector<std::string>;

int ranks_on(const HostSlots& host, int ranks_per_host) {
  return ranks_per_host == 0 ? host.slots : ranks_per_host;
}

int ranks_in_all(const std::vector<HostSlots>& hosts, int ranks_per_host) {
  int out = 0;
  for (const HostSlots& host : hosts) out += ranks_on(host, ranks_per_host);
  return out;
}

bool exceeds_slots(const std::vector<HostSlots>& hosts, int ranks_per_host) {
  return std::any_of(hosts.begin(), hosts.end(),
                     [&](const HostSlots& h) { return ranks_on(h, ranks_per_host) > h.slots; });
}

// A rank with more than one core to itself runs threads, which a binding to one core would pile up.
bool has_spare_slots(const std::vector<HostSlots>& hosts, int ranks_per_host) {
  return ranks_per_host == 1 || std::any_of(hosts.begin(), hosts.end(), [&](const HostSlots& h) {
           return ranks_on(h, ranks_per_host) < h.slots;
         });
}

void append(Arguments& to, const Arguments& what) { to.insert(to.end(), what.begin(), what.end()); }

Arguments mpirun_arguments(const LaunchSetup& setup, const std::vector<HostSlots>& hosts,
                           int ranks_per_host,
                           const std::map<std::string, std::string>& environment) {
  Arguments out{"mpirun"};
  if (setup.as_root) out.emplace_back("--allow-run-as-root");
  std::string list;
  for (const HostSlots& host : hosts)
    list +=
        fmt::format("{}{}:{}", list.empty() ? "" : ",", host.name, ranks_on(host, ranks_per_host));
  append(out, {"--host", list, "-np", std::to_string(ranks_in_all(hosts, ranks_per_host))});
  if (exceeds_slots(hosts, ranks_per_host)) {
    // The slots given above hide from Open MPI that cores are shared, so it would spin and not
    // yield.
    append(out, {"--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "--bind-to", "none"});
  } else if (has_spare_slots(hosts, ranks_per_host)) {
    append(out, {"--bind-to", "none"});
  }
  for (const auto& [name, value] : environment) append(out, {"-x", name + "=" + value});
  append(out, setup.arguments);
  return out;
}

Arguments srun_arguments(const LaunchSetup& setup, const std::vector<HostSlots>& hosts,
                         int ranks_per_host) {
  const int ranks = ranks_in_all(hosts, ranks_per_host);
  std::string list;
  for (const HostSlots& host : hosts) list += (list.empty() ? "" : ",") + host.name;
  Arguments out{"srun"};
  // A single rank needs no wire-up, and so works where Slurm was built without PMIx.
  out.push_back(ranks == 1 ? "--mpi=none" : "--mpi=pmix");
  append(out, {"--nodes=" + std::to_string(hosts.size()), "--nodelist=" + list,
               "--ntasks=" + std::to_string(ranks),
               "--ntasks-per-node=" + std::to_string(ranks_on(hosts[0], ranks_per_host)),
               "--kill-on-bad-exit=1"});
  if (exceeds_slots(hosts, ranks_per_host)) out.emplace_back("--overcommit");
  if (has_spare_slots(hosts, ranks_per_host)) out.emplace_back("--cpu-bind=none");
  append(out, setup.arguments);
  return out;
}

bool in_path(const std::string& program, const Environment& environment) {
  std::istringstream path(environment("PATH").value_or("/usr/bin:/bin"));
  for (std::string directory; std::getline(path, directory, ':');) {
    if (::access((directory + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

std::string quoted(const std::string& text) {
  const bool plain =
      !text.empty() && text.find_first_not_of(
                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                           "@%+=:,./_-") == std::string::npos;
  if (plain) return text;
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out + "'";
}

}  // namespace

const char* launcher_name(Launcher launcher) {
  switch (launcher) {
    case Launcher::none:
      return "none";
    case Launcher::mpirun:
      return "mpirun";
    case Launcher::srun:
      return "srun";
  }
  return "";
}

Launcher choose_launcher(const std::string& name, const Environment& environment) {
  if (name == "none") return Launcher::none;
  for (const Launcher launcher : {Launcher::mpirun, Launcher::srun}) {
    if (name != launcher_name(launcher)) continue;
    if (in_path(name, environment)) return launcher;
    throw UsageError("clusterbench run", "--launcher",
                     fmt::format("{} is not in the PATH: install it or load its module", name));
  }
  if (name != "auto")
    throw UsageError("clusterbench run", "--launcher",
                     unknown_name(name, {"auto", "mpirun", "srun", "none"}));
  if (environment("SLURM_JOB_ID") && in_path("srun", environment)) return Launcher::srun;
  return in_path("mpirun", environment) ? Launcher::mpirun : Launcher::none;
}

std::vector<std::string> launcher_arguments(Launcher launcher, const Environment& environment) {
  if (launcher == Launcher::none) return {};
  const char* name =
      launcher == Launcher::mpirun ? "CLUSTERBENCH_MPIRUN_ARGS" : "CLUSTERBENCH_SRUN_ARGS";
  std::istringstream text(environment(name).value_or(""));
  std::vector<std::string> out;
  for (std::string word; text >> word;) out.push_back(word);
  if (arguments_without_secrets(out) != out)
    throw UsageError("clusterbench run", name,
                     "holds what looks like a secret, and the campaign would record it; next: "
                     "export the variable and give its name alone (-x NAME)");
  return out;
}

// "-x NAME" hands on what the user's own environment has: only a value given here is looked at.
std::optional<std::string> bad_launcher_arguments(const Arguments& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument.empty() || terminal_safe(argument) != argument)
      return fmt::format("'{}' is no argument of a launcher", terminal_safe(argument));
    const size_t equals = argument.find('=');
    if (i == 0 || arguments[i - 1] != "-x" || equals == std::string::npos) continue;
    if (const auto why = refused_variable(argument.substr(0, equals)))
      return fmt::format("launcher argument -x {}: {}", argument, *why);
  }
  return std::nullopt;
}

std::optional<Said> cannot_launch(const LaunchSetup& setup, const std::vector<HostSlots>& hosts,
                                  int ranks_per_host) {
  if (setup.launcher == Launcher::none && (hosts.size() > 1 || ranks_per_host > 1)) {
    return said_count("launcher.none_cannot", hosts.size(), ranks_in_all(hosts, ranks_per_host));
  }
  const bool uneven = std::any_of(hosts.begin(), hosts.end(), [&](const HostSlots& h) {
    return ranks_on(h, ranks_per_host) != ranks_on(hosts[0], ranks_per_host);
  });
  if (setup.launcher == Launcher::srun && uneven) return said("launcher.slots");
  return std::nullopt;
}

Command launch_command(const LaunchSetup& setup, const std::vector<HostSlots>& hosts,
                       int ranks_per_host, const std::map<std::string, std::string>& environment,
                       const std::vector<std::string>& program) {
  Command out;
  if (setup.launcher == Launcher::mpirun) {
    out.argv = mpirun_arguments(setup, hosts, ranks_per_host, environment);
  } else {
    if (setup.launcher == Launcher::srun) out.argv = srun_arguments(setup, hosts, ranks_per_host);
    out.environment = environment;  // srun hands its own on
  }
  append(out.argv, program);
  return out;
}

std::string shell_text(const Command& command) {
  std::string out;
  for (const auto& [name, value] : command.environment)
    out += fmt::format("{}={} ", name, quoted(value));
  for (size_t i = 0; i < command.argv.size(); ++i)
    out += (i == 0 ? "" : " ") + quoted(command.argv[i]);
  return out;
}

}  // namespace cb
