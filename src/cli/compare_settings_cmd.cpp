// `clusterbench compare-settings`: what settings of NCCL give, each off and on in interleaved jobs
// beside an A/A control, proved by the library's own log.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "bench/registry.h"
#include "cli/commands.h"
#include "cli/job_series.h"
#include "cli/offers.h"
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
  std::string size = "1G", op = "all_reduce", language = "en";
  SeriesOptions series;
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
  std::set<std::string> required;
  for (const std::string& text : words_of(options.required)) {
    const std::string id = text.substr(0, text.find('='));
    if (!required.insert(id).second) problems.add("--require", id + " is given twice");
    apply_requirement(text, out, problems);
  }
  return out;
}

// What is the same for every setting.
SweepSetup common_setup(const SettingOptions& options, const Problems& problems) {
  SweepSetup setup =
      series_setup(options.series, "clusterbench compare-settings", "settings", problems);
  setup.arguments = {"nccl", "--op", options.op, "--size", options.size, "--algorithms", "--paths"};
  setup.arguments.insert(setup.arguments.end(), options.case_options.begin(),
                         options.case_options.end());
  return setup;
}

// What the jobs of one setting or of several came to, beside the verdict.
struct JobsEnd {
  bool refused = false, wrong = false;
  std::vector<Said> unwritten = {};
};

void note_end(const SweepOutcome& o, JobsEnd& end) {
  end.refused = end.refused || o.refused;
  end.wrong = end.wrong || (o.document && data_wrong(*o.document));
}

SettingVerdict compare_setting(const SettingRule& rule, SweepSetup setup, const MetricDef& metric,
                               JobsEnd& end) {
  setup.directory /= rule.id;
  fs::create_directories(setup.directory);
  setup.variables = {{rule.variable, {rule.off, rule.on}}};
  if (rule.id == "registered")
    setup.arguments.insert(setup.arguments.end(), {"--register", "user"});
  const size_t count = sweep_jobs(2, setup.repeats, setup.seed).size();
  const auto outcomes = run_sweep(
      setup,
      [&](size_t index, const SweepOutcome& o) {
        tell_ended(fmt::format("{} {}/{}", rule.id, index + 1, count),
                   fmt::format("{}={}", rule.variable, o.values.empty() ? "" : o.values.front()),
                   o);
      },
      &end.unwritten);
  for (const SweepOutcome& o : outcomes) note_end(o, end);
  const std::vector<SweepRun> runs = runs_of(outcomes);
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
    if (v.points.empty())
      std::cout << v.rule.id << ": " << Said(Message{"setting.not_compared", {}}).in(lang) << '\n';
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
    // One that was asked for and not compared has no point: it is incomplete, and so are all.
    const bool stopped = stop_signals() > 0 || end.refused;
    verdicts.push_back(stopped ? SettingVerdict{.rule = rule, .points = {}}
                               : compare_setting(rule, each, *metric, end));
  }
  const Lang lang = options.language == "zh" ? Lang::zh : Lang::en;
  print_settings(verdicts, *metric, lang);
  write_or_note(setup.directory / "settings.json", setting_json(verdicts, *metric), end.unwritten);
  write_or_note(setup.directory / "settings.en.md", setting_markdown(verdicts, *metric, Lang::en),
                end.unwritten);
  write_or_note(setup.directory / "settings.zh.md", setting_markdown(verdicts, *metric, Lang::zh),
                end.unwritten);
  std::cout << terminal_safe("→ " + setup.directory.string()) << '\n';
  const ExitCode code = settings_code(verdicts, end);
  return tell_unwritten(end.unwritten) && code == ExitCode::ok ? ExitCode::runtime : code;
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
  add_series_options(*sub, options->series, "each side", "settings");
  offer_only(sub->add_option("--lang", options->language, "language of the table [en]"),
             {"en", "zh"})
      ->type_name("en|zh");
  sub->add_option("options", options->case_options, "of nccl, behind --")->type_name("-- …");
  sub->callback([&action, options] { action = [options] { return compare_settings(*options); }; });
}

}  // namespace cb
