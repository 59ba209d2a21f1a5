#include "cli/run_cmd_setup.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <random>
#include <set>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "bench/registry.h"
#include "campaign/journal.h"
#include "campaign/roster.h"
#include "campaign/signoff.h"
#include "cli/profile_source.h"
#include "cli/run_trust.h"
#include "core/build_info.h"
#include "core/clock.h"
#include "core/ed25519.h"
#include "core/file.h"
#include "core/json/json_text.h"
#include "core/secrets.h"
#include "core/suggest.h"
#include "sys/inventory/inventory.h"

namespace cb {

std::optional<std::string> own_environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::vector<std::string> own_command_line(bool redact) {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> out;
  for (std::string argument; std::getline(in, argument, '\0');) out.push_back(argument);
  return redact ? arguments_without_values(out) : arguments_without_secrets(out);
}

// Number of cores that this process may use; hardware threads of one core count once.
int own_cores() {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    std::ifstream in(
        fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu));
    std::string siblings;
    if (!std::getline(in, siblings)) siblings = std::to_string(cpu);
    cores.insert(siblings);
  }
  return std::max(1, static_cast<int>(cores.size()));
}

// Reads the file's hosts. Every problem names the file, since it appears among those of other
// options.
std::vector<HostSlots> hosts_of_file(const std::string& file) {
  try {
    return parse_hostfile(read_file(file), file);
  } catch (const UsageError& e) {
    Problems problems;
    for (const Problem& p : e.problems().list)
      problems.add(fmt::format("--hostfile {}{}{}", file, p.where.empty() ? "" : " ", p.where),
                   p.what);
    throw UsageError("clusterbench run", problems);
  }
}

std::vector<HostSlots> chosen_hosts(const RunOptions& options, Launcher launcher) {
  if (!options.hosts.empty() && !options.hostfile.empty())
    throw UsageError("clusterbench run", "--hosts", "and --hostfile exclude each other");
  if (!options.hosts.empty()) return parse_hosts(options.hosts);
  if (!options.hostfile.empty()) return hosts_of_file(options.hostfile);
  if (launcher == Launcher::srun) {
    if (auto hosts = slurm_hosts(own_environment)) return *hosts;
  }
  return {{host_name(), own_cores()}};
}

// A mistake in the list names this option, and not --hosts.
std::vector<HostSlots> parsed_spares(const std::string& list) {
  try {
    return parse_hosts(list);
  } catch (const UsageError& e) {
    Problems problems;
    for (const Problem& p : e.problems().list) problems.add("--spares", p.what);
    throw UsageError("clusterbench run", problems);
  }
}

std::vector<HostSlots> chosen_spares(const RunOptions& options,
                                     const std::vector<HostSlots>& hosts) {
  if (options.spares.empty()) return {};
  std::vector<HostSlots> out = parsed_spares(options.spares);
  Problems problems;
  for (const HostSlots& spare : out) {
    if (std::ranges::find(hosts, spare.name, &HostSlots::name) != hosts.end())
      problems.add("--spares", fmt::format("{} is one of the hosts already", spare.name));
    // With other slots a step that a spare makes up for would be another test.
    if (!hosts.empty() && std::ranges::find(hosts, spare.slots, &HostSlots::slots) == hosts.end())
      problems.add("--spares",
                   fmt::format("{0} has {1} slot{2}, and no host has: write {0}:{3}", spare.name,
                               spare.slots, spare.slots == 1 ? "" : "s", hosts.front().slots));
  }
  if (!problems.empty()) throw UsageError("clusterbench run", problems);
  return out;
}

Exclude chosen_exclude(const std::string& name) {
  for (const Exclude exclude : {Exclude::never, Exclude::lost, Exclude::failing}) {
    if (name == exclude_name(exclude)) return exclude;
  }
  throw UsageError("clusterbench run", "--exclude", unknown_name(name, exclude_names()));
}

std::vector<std::string> own_launcher_arguments(Launcher launcher) {
  std::vector<std::string> out = launcher_arguments(launcher, own_environment);
  if (const auto why = bad_launcher_arguments(out))
    throw UsageError("clusterbench run", "CLUSTERBENCH_MPIRUN_ARGS or CLUSTERBENCH_SRUN_ARGS",
                     *why);
  return out;
}

std::string new_campaign_id() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

// Collects the problems of `attempt` instead of stopping at the first mistake.
void collect(Problems& problems, const std::function<void()>& attempt) {
  try {
    attempt();
  } catch (const UsageError& e) {
    for (const Problem& p : e.problems().list) problems.list.push_back(p);
  }
}

// The public key of a private key that can sign; empty if no key is given. Throws UsageError.
std::string public_key_of(const std::string& key) {
  if (key.empty()) return "";
  const Ed25519Key signer(key);
  if (signer.held_by_agent())
    throw UsageError(key, "",
                     "is a public key: a run signs what it measures for hours, and an agent may go "
                     "away or ask meanwhile; name a private key that has no passphrase");
  return signer.sign("").public_key;
}

// The profile as it is run. The value of --dir is put into the steps that need a directory and name
// none, so that campaign, fingerprint and report know it.
Profile chosen_profile(const RunOptions& options) {
  Profile profile = load_valid_profile(options.profile, default_places(options.profile_directory));
  if (options.dirs.empty()) return profile;
  const Catalogue cases = catalogue();
  json resolved = json::parse(profile.resolved);
  bool any = false;
  for (size_t i = 0; i < profile.steps.size(); ++i) {
    const Step& step = profile.steps[i];
    const CaseInfo* info = case_of(step, cases);
    if (info == nullptr || !info->needs.directory) continue;
    if (step.params.contains("dir") || step.params.contains("file")) continue;
    resolved["steps"][i]["params"]["dir"] = options.dirs;
    any = true;
  }
  if (!any)
    throw UsageError("clusterbench run", "--dir",
                     "no step of this profile needs a directory: leave it out");
  Profile out = parse_resolved_profile(dump_json(resolved), "profile " + options.profile);
  const Problems problems = validate_profile(out, cases);
  if (!problems.empty()) throw UsageError("clusterbench run --dir", problems);
  return out;
}

// Without a launcher nothing starts on other hosts. A plan for them may be printed anywhere, unless
// the launcher none was asked for.
void require_reach(const RunOptions& options, const CampaignFile& file) {
  const bool foreign = file.hosts.size() > 1 || file.hosts[0].name != host_name();
  const bool asked = options.launcher == "none";
  if ((!foreign && file.spares.empty()) || (options.dry_run && !asked)) return;
  throw UsageError("clusterbench run", foreign ? "--hosts" : "--spares",
                   asked
                       ? "--launcher none starts nothing on other hosts: name another launcher, or "
                         "run on this host alone"
                       : "needs mpirun or srun to reach other hosts: install Open MPI, or run on "
                         "this host alone");
}

CampaignFile fresh_campaign(const RunOptions& options, const ToolInfo& tool) {
  CampaignFile file;
  Problems problems;
  collect(problems, [&] {
    file.profile = chosen_profile(options);
    plan_jobs(file.profile, {});  // refuses step ids that cannot name files
  });
  collect(problems,
          [&] { file.launch.launcher = choose_launcher(options.launcher, own_environment); });
  collect(problems, [&] { file.hosts = chosen_hosts(options, file.launch.launcher); });
  collect(problems, [&] { file.spares = chosen_spares(options, file.hosts); });
  collect(problems, [&] { file.exclude = chosen_exclude(options.exclude); });
  if (!problems.empty()) throw UsageError("clusterbench run", problems);
  plan_jobs(file.profile, names_of(file.hosts));  // refuses more jobs than can be run
  file.id = new_campaign_id();
  file.chained = true;
  file.public_key = public_key_of(options.key);
  file.started = utc_now();
  file.tool = tool;
  file.launch.arguments = own_launcher_arguments(file.launch.launcher);
  file.launch.as_root = ::geteuid() == 0;
  file.launch.hydra = file.launch.launcher == Launcher::mpirun && mpirun_is_hydra(own_environment);
  file.redact = options.redact;
  file.command = own_command_line(file.redact);
  if (file.launch.launcher == Launcher::none) require_reach(options, file);
  return file;
}

// If a campaign began with a key, the same key must sign all that it measures.
void require_campaign_key(const CampaignFile& file, const std::string& key) {
  const std::string own = public_key_of(key);
  if (own == file.public_key) return;
  throw UsageError("clusterbench run", "--key",
                   file.public_key.empty()
                       ? "was not given when the campaign began: leave it out with --resume"
                       : fmt::format("must be the key that the campaign began with (its public key "
                                     "is {})",
                                     file.public_key));
}

// Reads the campaign from its directory. Options that contradict it are refused, not ignored.
CampaignFile resumed_campaign(const RunOptions& options, const CampaignPaths& paths) {
  Problems problems;
  for (const auto& [name, value] :
       {std::pair("--hosts", &options.hosts), std::pair("--hostfile", &options.hostfile),
        std::pair("--spares", &options.spares)}) {
    if (!value->empty()) problems.add(name, "is fixed in the campaign: leave it out with --resume");
  }
  if (options.exclude != "lost")
    problems.add("--exclude", "is fixed in the campaign: leave it out with --resume");
  if (options.launcher != "auto")
    problems.add("--launcher", "is fixed in the campaign: leave it out with --resume");
  if (!options.dirs.empty() && options.out.empty())
    problems.add("--dir", "is fixed in the campaign: leave it out with --resume");
  if (!problems.empty()) throw UsageError("clusterbench run", problems);
  if (!fs::exists(paths.campaign()))
    throw UsageError(paths.root.string(), options.into.empty() ? "--resume" : "--into",
                     "is not a campaign: start one with clusterbench run PROFILE --out DIR");
  refuse_signed(paths.root, "--resume");
  CampaignFile file = parse_campaign_file(read_file(paths.campaign()), paths.campaign().string());
  require_campaign_key(file, options.key);
  if (options.redact && !file.redact)
    throw UsageError(
        "clusterbench run", "--redact",
        "was not given when the campaign began: leave it out with --resume, or begin a "
        "new campaign");
  require_trust(file, paths, own_launcher_arguments(file.launch.launcher),
                options.trust || options.dry_run);
  if (!options.out.empty() && !options.profile.empty()) {
    const Profile asked = chosen_profile(options);
    if (asked.sha256 != file.profile.sha256)
      throw UsageError("clusterbench run", "PROFILE",
                       fmt::format("{} is not what the campaign began with: leave it out to go on, "
                                   "or begin a new campaign",
                                   options.profile));
  }
  return file;
}

// The hosts of --only, which must take part or have been taken out without a successor.
std::set<std::string> chosen_only(const RunOptions& options, const RunSetup& setup) {
  if (options.only.empty()) return {};
  const ChainRoot root = chain_root(setup.campaign, read_file(setup.paths.campaign()));
  const Roster roster = read_roster(setup.campaign, read_journal(setup.paths.journal(), root));
  std::set<std::string> out;
  Problems problems;
  if (options.only.find(':') != std::string::npos)
    problems.add("--only", "takes names without slots: those of the campaign count");
  for (const HostSlots& h : parse_hosts(options.only)) {
    if (roster.is_waiting(h.name))
      problems.add("--only",
                   fmt::format("{} is a spare already: it is measured if it steps in", h.name));
    else if (roster.out(h.name) == nullptr && !roster.takes_part(h.name))
      problems.add("--only", fmt::format("{} is no host of the campaign", h.name));
    out.insert(h.name);
  }
  if (!problems.empty()) throw UsageError("clusterbench run", problems);
  return out;
}

}  // namespace

ToolInfo own_tool() {
  const BuildInfo& build = build_info();
  ToolInfo tool;
  tool.version = build.version;
  tool.commit = build.commit;
  tool.dirty = build.dirty;
  tool.build = {{"compiler", std::string(build.compiler)},
                {"build_type", std::string(build.build_type)},
                {"cuda", std::string(build.cuda)},
                {"sanitizers", std::string(build.sanitizers)}};
  return tool;
}

void settle_options(RunOptions& options) {
  if (options.into.empty() != options.only.empty())
    throw UsageError("clusterbench run", options.into.empty() ? "--only" : "--into",
                     "--only HOSTS and --into DIR go together: these hosts of that campaign are "
                     "measured again");
  if (options.into.empty()) return;
  if (!options.profile.empty() || !options.out.empty())
    throw UsageError("clusterbench run", "--into",
                     "names the campaign: leave out the profile and --out");
  options.out = options.into;
  options.resume = true;
}

Launching choose_launching(const RunOptions& options) {
  Launching out;
  Problems problems;
  collect(problems,
          [&] { out.setup.launcher = choose_launcher(options.launcher, own_environment); });
  collect(problems, [&] { out.hosts = chosen_hosts(options, out.setup.launcher); });
  if (!problems.empty()) throw UsageError("clusterbench", problems);
  out.setup.arguments = own_launcher_arguments(out.setup.launcher);
  out.setup.as_root = ::geteuid() == 0;
  out.setup.hydra = out.setup.launcher == Launcher::mpirun && mpirun_is_hydra(own_environment);
  return out;
}

std::string campaign_directory(const RunOptions& options) {
  if (!options.out.empty()) return fs::absolute(options.out).lexically_normal().string();
  if (options.resume) return fs::absolute(options.profile).lexically_normal().string();
  const std::string name =
      fmt::format("out/{:%Y%m%d-%H%M%S}-{}", fmt::localtime(std::time(nullptr)), host_name());
  return fs::absolute(name).string();
}

RunSetup run_setup(const RunOptions& options) {
  if (options.profile.empty() && options.out.empty())
    throw UsageError("clusterbench run", "PROFILE", "is missing: see clusterbench profile list");
  RunSetup setup;
  setup.paths.root = campaign_directory(options);
  refuse_writing_over_evidence(setup.paths.root, {options.prometheus});
  setup.tool = own_tool();
  // If a run was killed before its first file, --resume begins it anew, provided the profile is
  // named.
  const bool nothing_to_resume = options.resume && !options.out.empty() &&
                                 !options.profile.empty() && !fs::exists(setup.paths.campaign());
  const bool resumes = options.resume && !nothing_to_resume;
  if (!resumes && options.profile.empty())
    throw UsageError("clusterbench run", "PROFILE", "is missing: see clusterbench profile list");
  setup.campaign =
      resumes ? resumed_campaign(options, setup.paths) : fresh_campaign(options, setup.tool);
  setup.command = own_command_line(setup.campaign.redact);
  setup.binary = startable_binary();
  setup.catalogue = catalogue();
  setup.key = options.key;
  setup.prove = options.prove;
  setup.executor.fan_out = static_cast<size_t>(options.fan_out);
  setup.only = chosen_only(options, setup);
  return setup;
}

}  // namespace cb
