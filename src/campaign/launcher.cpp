#include "campaign/launcher.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>
#include <unistd.h>

#include "core/env_names.h"
#include "core/hydra.h"
#include "core/path_search.h"
#include "core/secrets.h"
#include "core/srun_plugin.h"
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

// True if a rank has more than one core to itself: it runs threads, which a binding to one core
// would put on that core.
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
    // The slots above hide from Open MPI that ranks share cores; without this it would spin and not
    // yield.
    append(out, {"--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "--bind-to", "none"});
  } else if (has_spare_slots(hosts, ranks_per_host)) {
    append(out, {"--bind-to", "none"});
  }
  for (const auto& [name, value] : environment) append(out, {"-x", name + "=" + value});
  append(out, setup.arguments);
  return out;
}

// One number of ranks for all hosts if they have the same: Intel MPI takes no number after a single
// host.
Arguments hydra_hosts(const std::vector<HostSlots>& hosts, int ranks_per_host) {
  const int each = ranks_on(hosts[0], ranks_per_host);
  const bool even = std::ranges::all_of(
      hosts, [&](const HostSlots& h) { return ranks_on(h, ranks_per_host) == each; });
  std::string list;
  for (const HostSlots& host : hosts) {
    list += (list.empty() ? "" : ",") + host.name;
    if (!even) list += fmt::format(":{}", ranks_on(host, ranks_per_host));
  }
  if (even) return {"-hosts", list, "-ppn", std::to_string(each)};
  return {"-hosts", list};
}

Arguments hydra_arguments(const LaunchSetup& setup, const std::vector<HostSlots>& hosts,
                          int ranks_per_host,
                          const std::map<std::string, std::string>& environment) {
  Arguments out{"mpirun"};
  append(out, hydra_hosts(hosts, ranks_per_host));
  append(out, {"-np", std::to_string(ranks_in_all(hosts, ranks_per_host))});
  if (exceeds_slots(hosts, ranks_per_host) || has_spare_slots(hosts, ranks_per_host))
    append(out, {"-bind-to", "none"});
  for (const auto& [name, value] : environment) append(out, {"-genv", name, value});
  append(out, setup.arguments);
  return out;
}

Arguments srun_arguments(const LaunchSetup& setup, const std::vector<HostSlots>& hosts,
                         int ranks_per_host) {
  const int ranks = ranks_in_all(hosts, ranks_per_host);
  std::string list;
  for (const HostSlots& host : hosts) list += (list.empty() ? "" : ",") + host.name;
  Arguments out{"srun"};
  const Arguments others = without_srun_plugin(setup.arguments);
  // A single rank needs no wire-up, so this also works where Slurm was built without PMIx.
  if (ranks == 1)
    out.emplace_back("--mpi=none");
  else if (others.size() == setup.arguments.size())
    out.emplace_back("--mpi=pmix");
  append(out, {"--nodes=" + std::to_string(hosts.size()), "--nodelist=" + list,
               "--ntasks=" + std::to_string(ranks),
               "--ntasks-per-node=" + std::to_string(ranks_on(hosts[0], ranks_per_host)),
               "--kill-on-bad-exit=1"});
  if (exceeds_slots(hosts, ranks_per_host)) out.emplace_back("--overcommit");
  if (has_spare_slots(hosts, ranks_per_host)) out.emplace_back("--cpu-bind=none");
  append(out, ranks == 1 ? others : setup.arguments);
  return out;
}

std::string file_of(const std::string& program, const Environment& environment) {
  return file_in_path(program, environment("PATH").value_or(kPlainPath));
}

bool in_path(const std::string& program, const Environment& environment) {
  return !file_of(program, environment).empty();
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

std::vector<std::string> launcher_names() {
  std::vector<std::string> names{"auto"};
  for (const Launcher launcher : {Launcher::mpirun, Launcher::srun, Launcher::none})
    names.emplace_back(launcher_name(launcher));
  return names;
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
    throw UsageError("clusterbench run", "--launcher", unknown_name(name, launcher_names()));
  if (environment("SLURM_JOB_ID") && in_path("srun", environment)) return Launcher::srun;
  return in_path("mpirun", environment) ? Launcher::mpirun : Launcher::none;
}

bool mpirun_is_hydra(const Environment& environment) {
  return is_hydra(file_of("mpirun", environment), environment("PATH").value_or(kPlainPath));
}

size_t input_piece(const LaunchSetup& setup, const Environment& environment) {
  constexpr size_t kMessage = 4096;    // of the daemons of Open MPI 5
  constexpr size_t kHalfPipe = 32768;  // Hydra's proxy ends where the rank's pipe is full
  if (setup.launcher != Launcher::mpirun) return 0;
  if (setup.hydra) return kHalfPipe;
  std::error_code failed;
  const auto file = std::filesystem::canonical(file_of("mpirun", environment), failed);
  return !failed && file.filename().string().starts_with("orterun") ? 0 : kMessage;
}

namespace {

// Normalises an option as Hydra's parser does: it takes any number of dashes, "=" for a blank and
// any case: "--GENV=NAME" is -genv.
std::string hydra_option(const std::string& word) {
  if (!word.starts_with('-')) return "";
  std::string out = word.substr(std::min(word.find_first_not_of('-'), word.size()));
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

// The variable that the argument at `i` sets: "-x NAME=VALUE" of Open MPI, "-genv NAME VALUE" of
// Hydra. "-x NAME" only hands on a variable of the user's environment and sets none.
std::string variable_set_at(const Arguments& arguments, size_t i) {
  const std::string& argument = arguments[i];
  const std::string own = hydra_option(argument);
  for (const std::string_view begin : {"genv=", "env="}) {
    if (!own.starts_with(begin)) continue;
    const std::string rest = argument.substr(argument.find('=') + 1);
    return rest.substr(0, rest.find('='));
  }
  if (i == 0) return "";
  const std::string option = hydra_option(arguments[i - 1]);
  const size_t equals = argument.find('=');
  if (option == "genv" || option == "env") return argument.substr(0, equals);
  return option == "x" && equals != std::string::npos ? argument.substr(0, equals) : "";
}

// True if an argument sets a variable whose name is a secret's.
bool sets_secret(const Arguments& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (names_secret(variable_set_at(arguments, i))) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> launcher_arguments(Launcher launcher, const Environment& environment) {
  if (launcher == Launcher::none) return {};
  const char* name =
      launcher == Launcher::mpirun ? "CLUSTERBENCH_MPIRUN_ARGS" : "CLUSTERBENCH_SRUN_ARGS";
  std::istringstream text(environment(name).value_or(""));
  std::vector<std::string> out;
  for (std::string word; text >> word;) out.push_back(word);
  if (arguments_without_secrets(out) != out || sets_secret(out))
    throw UsageError(
        "clusterbench run", name,
        "holds what looks like a secret, and the campaign would record it; next: "
        "export the variable and give its name alone (-x NAME, or -genvlist NAME of Hydra)");
  return out;
}

std::optional<std::string> bad_launcher_arguments(const Arguments& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument.empty() || terminal_safe(argument) != argument)
      return fmt::format("'{}' is no argument of a launcher", terminal_safe(argument));
    const std::string variable = variable_set_at(arguments, i);
    if (variable.empty()) continue;
    if (const auto why = refused_variable(variable))
      return fmt::format("launcher argument {}{}: {}", i == 0 ? "" : arguments[i - 1] + " ",
                         argument, *why);
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
    out.by_open_mpi = !setup.hydra;
    out.argv = setup.hydra ? hydra_arguments(setup, hosts, ranks_per_host, environment)
                           : mpirun_arguments(setup, hosts, ranks_per_host, environment);
  } else {
    if (setup.launcher == Launcher::srun) out.argv = srun_arguments(setup, hosts, ranks_per_host);
    out.environment = environment;  // srun hands its own environment on
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
