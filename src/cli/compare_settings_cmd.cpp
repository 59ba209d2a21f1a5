// `clusterbench compare-settings`: what settings of NCCL give, each off and on in interleaved jobs
// beside an A/A control, proved by the library's own log.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <sstream>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "bench/registry.h"
#include "campaign/env_sweep.h"
#include "cli/commands.h"
#include "cli/offers.h"
#include "cli/profile_source.h"
#include "cli/run_cmd_setup.h"
#include "cli/stop_signals.h"
#include "core/file.h"
#include "core/suggest.h"
#include "core/text.h"
#include "core/units.h"
#include "judge/setting_verdict.h"
#include "report/setting_report.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSettingMetric = "bus_bytes_per_second";

struct SettingOptions {
  std::vector<std::string> settings;
  std::vector<std::string> required;
  std::vector<std::string> case_options;
  std::string out, size = "1G", op = "all_reduce", language = "en";
  std::string deadline = "10m";
  int ranks_per_host = 0;
  size_t repeats = 5;
  uint64_t seed = 1;
  RunOptions launching;
};

std::vector<std::string> setting_names() {
  std::vector<std::string> out;
  for (const SettingRule& rule : known_settings()) out.push_back(rule.id);
  return out;
}

// The words of all texts, parted by commas.
std::vector<std::string> words_of(const std::vector<std::string>& texts) {
  std::vector<std::string> out;
  for (const std::string& text : texts) {
    std::istringstream in(text);
    for (std::string word; std::getline(in, word, ',');) out.push_back(word);
  }
  return out;
}

// "sharp=1.3": the ratio that is asked of a setting, instead of the usual one.
void apply_requirement(const std::string& text, std::vector<SettingRule>& rules,
                       Problems& problems) {
  const size_t equals = text.find('=');
  const auto ratio =
      equals == std::string::npos ? std::nullopt : parse_number(text.substr(equals + 1));
  if (!ratio || !(*ratio > 0)) {
    problems.add("--require", fmt::format("'{}' is not SETTING=RATIO such as sharp=1.3", text));
    return;
  }
  const std::string id = text.substr(0, equals);
  const auto found = std::ranges::find(rules, id, &SettingRule::id);
  if (found == rules.end())
    problems.add("--require", fmt::format("{} is not among the settings compared", id));
  else
    found->least_ratio = *ratio;
}

std::vector<SettingRule> chosen_rules(const SettingOptions& options, Problems& problems) {
  std::vector<SettingRule> out;
  const std::vector<std::string> names = setting_names();
  for (const std::string& id : options.settings.empty() ? names : words_of(options.settings)) {
    const auto found = std::ranges::find(known_settings(), id, &SettingRule::id);
    if (found == known_settings().end())
      problems.add("--setting", unknown_name(id, names));
    else if (std::ranges::find(out, id, &SettingRule::id) != out.end())
      problems.add("--setting", id + " is given twice");
    else
      out.push_back(*found);
  }
  for (const std::string& text : words_of(options.required)) apply_requirement(text, out, problems);
  return out;
}

fs::path settings_directory(const SettingOptions& options, Problems& problems) {
  const std::string name = !options.out.empty() ? options.out
                                                : fmt::format("out/{:%Y%m%d-%H%M%S}-settings",
                                                              fmt::localtime(std::time(nullptr)));
  std::error_code failed;
  if (fs::exists(name, failed) && !(fs::is_directory(name, failed) && fs::is_empty(name, failed)))
    problems.add("--out", fmt::format("{} is not empty: name a fresh directory", name));
  return fs::absolute(name).lexically_normal();
}

// What is the same for every setting.
SweepSetup common_setup(const SettingOptions& options, Problems& problems) {
  SweepSetup setup;
  const auto deadline = parse_duration(options.deadline);
  if (!deadline || *deadline <= 0)
    problems.add("--deadline", options.deadline + " is not a duration such as 90s or 10m");
  setup.directory = settings_directory(options, problems);
  if (!problems.empty()) throw UsageError("clusterbench compare-settings", problems);
  setup.deadline_seconds = *deadline;
  setup.binary = startable_binary();
  setup.arguments = {"nccl", "--op", options.op, "--size", options.size, "--algorithms", "--paths"};
  setup.arguments.insert(setup.arguments.end(), options.case_options.begin(),
                         options.case_options.end());
  Launching launching = choose_launching(options.launching);
  setup.launch = std::move(launching.setup);
  setup.hosts = std::move(launching.hosts);
  setup.ranks_per_host = options.ranks_per_host;
  setup.repeats = options.repeats;
  setup.seed = options.seed;
  if (setup.launch.launcher == Launcher::none && setup.ranks_per_host == 0)
    setup.ranks_per_host = 1;
  if (const auto why = cannot_launch(setup.launch, setup.hosts, setup.ranks_per_host))
    throw UsageError("clusterbench compare-settings", "--launcher", why->text());
  return setup;
}

// What the jobs of one setting or of several came to, beside the verdict.
struct JobsEnd {
  bool refused = false, wrong = false;
};

void note_end(const SweepOutcome& o, JobsEnd& end) {
  end.refused = end.refused || o.refused;
  if (!o.document) return;
  for (const Record& record : o.document->records) {
    for (const Check& check : record.checks)
      end.wrong = end.wrong || (!check.passed && !check.finding);
  }
}

SettingVerdict compare_setting(const SettingRule& rule, SweepSetup setup, const MetricDef& metric,
                               JobsEnd& end) {
  setup.directory /= rule.id;
  fs::create_directories(setup.directory);
  setup.variables = {{rule.variable, {rule.off, rule.on}}};
  if (rule.id == "registered")
    setup.arguments.insert(setup.arguments.end(), {"--register", "user"});
  const size_t count = sweep_jobs(2, setup.repeats, setup.seed).size();
  const auto outcomes = run_sweep(setup, [&](size_t index, const SweepOutcome& o) {
    const bool done = o.state == JobState::done;
    std::cerr << terminal_safe(fmt::format("   {} {}/{} {} {}={}{} {}{}", rule.id, index + 1, count,
                                           done ? "✓" : "✗", rule.variable,
                                           o.values.empty() ? "" : o.values.front(),
                                           o.job.control ? " (A/A)" : "", format_seconds(o.seconds),
                                           done ? "" : "  " + o.reason.text()))
              << '\n';
  });
  std::vector<SweepRun> runs;
  for (const SweepOutcome& o : outcomes) {
    note_end(o, end);
    runs.push_back(
        {o.job.combination, o.job.block, o.job.control, o.document ? &*o.document : nullptr});
  }
  return judge_setting(rule, runs, metric);
}

ExitCode settings_code(const std::vector<SettingVerdict>& verdicts, const JobsEnd& end) {
  if (end.refused) return ExitCode::usage;
  if (stop_signals() > 0) return ExitCode::interrupted;
  const State state = overall(verdicts);
  if (end.wrong || state == State::fail) return ExitCode::not_accepted;
  return state == State::pass ? ExitCode::ok : ExitCode::incomplete;
}

void print_settings(const std::vector<SettingVerdict>& verdicts, const MetricDef& metric,
                    Lang lang) {
  auto rows = setting_rows(verdicts, metric, lang);
  for (auto& row : rows) {
    for (std::string& cell : row) cell = terminal_safe(cell);
  }
  std::cout << text_table(rows, {false, false, true, true, true, true, true, false, false});
  for (const SettingVerdict& v : verdicts) {
    for (const SettingPoint& p : v.points)
      std::cout << terminal_safe(v.rule.id + ": " + Said(p.why).in(lang)) << '\n';
  }
}

ExitCode compare_settings(const SettingOptions& options) {
  Problems problems;
  const std::vector<SettingRule> rules = chosen_rules(options, problems);
  const SweepSetup setup = common_setup(options, problems);
  const Catalogue cases = catalogue();
  const CaseInfo* nccl = find_case(cases, "nccl");
  const auto metric = std::ranges::find(nccl->metrics, kSettingMetric, &MetricDef::name);
  fs::create_directories(setup.directory);
  catch_stop_signals();
  SweepSetup each = setup;
  each.executor.stop_signals = stop_signals;
  std::vector<SettingVerdict> verdicts;
  JobsEnd end;
  for (const SettingRule& rule : rules) {
    if (stop_signals() > 0 || end.refused) break;
    verdicts.push_back(compare_setting(rule, each, *metric, end));
  }
  const Lang lang = options.language == "zh" ? Lang::zh : Lang::en;
  print_settings(verdicts, *metric, lang);
  write_file_atomically(setup.directory / "settings.json", setting_json(verdicts, *metric));
  write_file_atomically(setup.directory / "settings.en.md",
                        setting_markdown(verdicts, *metric, Lang::en));
  write_file_atomically(setup.directory / "settings.zh.md",
                        setting_markdown(verdicts, *metric, Lang::zh));
  std::cout << terminal_safe("→ " + setup.directory.string()) << '\n';
  return settings_code(verdicts, end);
}

}  // namespace

void add_compare_settings_command(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand(
      "compare-settings",
      "settings of NCCL off and on: how much each gives, proved by the library's log, judged");
  const auto options = std::make_shared<SettingOptions>();
  sub->group("Measurements");
  sub->footer(
      "Example:\n  clusterbench compare-settings --setting nvls,sharp --require sharp=1.3 --size "
      "1G "
      "--hosts a:8,b:8 -- --duration 2s");
  offer(sub->add_option("--setting", options->settings, "these [all]"), setting_names())
      ->type_name("NAME,…")
      ->expected(1)
      ->allow_extra_args(false)  // a list would swallow the -- behind it
      ->take_all();
  sub->add_option("--require", options->required,
                  "the least ratio of on over off [nvls=1.1, sharp=1.3]; of others none is asked")
      ->type_name("NAME=RATIO")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
  sub->add_option("--op", options->op, "collective [all_reduce]")->type_name("NAME");
  sub->add_option("--size", options->size, "[1G]")->type_name("SIZE,…");
  sub->add_option("--repeats", options->repeats, "how often each side runs [5]")
      ->check(CLI::Range(1, 1000))
      ->type_name("N");
  sub->add_option("--seed", options->seed, "draws the order within each repeat [1]")
      ->type_name("N");
  sub->add_option("--deadline", options->deadline, "of each job [10m]")->type_name("TIME");
  sub->add_option("--out", options->out, "a fresh directory [out/<time>-settings]")
      ->type_name("DIR");
  offer_only(sub->add_option("--lang", options->language, "language of the table [en]"),
             {"en", "zh"})
      ->type_name("en|zh");
  offer(sub->add_option("--launcher", options->launching.launcher,
                        "auto, mpirun, srun or none [auto]"),
        launcher_names())
      ->type_name("NAME");
  sub->add_option("--hosts", options->launching.hosts, "hosts and their slots: a:8,b:8")
      ->type_name("LIST");
  sub->add_option("--hostfile", options->launching.hostfile, "hosts as in an Open MPI hostfile")
      ->type_name("FILE");
  sub->add_option("--ranks-per-host", options->ranks_per_host, "[as many as a host has slots]")
      ->check(CLI::Range(1, 100000))
      ->type_name("N");
  sub->add_option("options", options->case_options, "of nccl, behind --")->type_name("-- …");
  sub->callback([&action, options] { action = [options] { return compare_settings(*options); }; });
}

}  // namespace cb
