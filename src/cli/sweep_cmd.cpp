// `clusterbench sweep CASE --env NAME=a,b …`: finds the best setting of the environment for each
// size.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "bench/registry.h"
#include "cli/commands.h"
#include "cli/job_series.h"
#include "cli/offers.h"
#include "cli/stop_signals.h"
#include "cli/sweep_chart.h"
#include "cli/sweep_table.h"
#include "core/file.h"
#include "core/suggest.h"
#include "core/text.h"
#include "judge/env_sweep.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

struct SweepOptions {
  std::string case_name;
  std::vector<std::string> case_options;
  std::vector<std::string> arguments;  // case_name and case_options together
  std::vector<std::string> variables;
  std::string metric;
  SeriesOptions series;
};

const CaseInfo* known_case(const Catalogue& cases, const SweepOptions& options,
                           Problems& problems) {
  if (options.arguments.empty()) {
    problems.add("CASE", "is missing: see clusterbench list");
    return nullptr;
  }
  const CaseInfo* info = find_case(cases, options.arguments[0]);
  std::vector<std::string> names;
  for (const CaseInfo& c : cases) {
    if (!c.hidden) names.push_back(c.name);
  }
  if (info == nullptr) problems.add("CASE", unknown_name(options.arguments[0], names));
  for (const std::string& argument : options.arguments) {
    if (argument == "--json" || argument.starts_with("--json="))
      problems.add("--json", "is the sweep's own: see --out");
  }
  return info;
}

std::string series_name(const SweepOptions& options) {
  return "sweep-" + (options.arguments.empty() ? std::string() : options.arguments[0]);
}

SweepSetup sweep_setup(const SweepOptions& options, const Catalogue& cases) {
  Problems problems;
  const CaseInfo* info = known_case(cases, options, problems);
  const auto variables = parse_variables(options.variables, problems);
  if (options.variables.empty()) problems.add("--env", "is missing: NAME=VALUE,VALUE,…");
  if (info != nullptr && !options.metric.empty()) {
    std::vector<std::string> names;
    for (const MetricDef& m : info->metrics) names.push_back(m.name);
    if (std::find(names.begin(), names.end(), options.metric) == names.end())
      problems.add("--metric", unknown_name(options.metric, names));
  }
  SweepSetup setup =
      series_setup(options.series, "clusterbench sweep", series_name(options), problems);
  setup.variables = variables;
  setup.arguments = options.arguments;
  return setup;
}

std::string values_text(const SweepSetup& setup, const std::vector<std::string>& values) {
  std::string out;
  for (size_t i = 0; i < values.size(); ++i)
    out += fmt::format("{}{}={}", i == 0 ? "" : " ", setup.variables[i].name, values[i]);
  return out;
}

using Combinations = std::vector<std::vector<std::string>>;

std::vector<std::string> names_of(const SweepSetup& setup, const Combinations& all) {
  std::vector<std::string> out;
  for (const std::vector<std::string>& values : all) out.push_back(values_text(setup, values));
  return out;
}

// Every combination at every point, as CSV for a spreadsheet.
std::string csv(const SweepSetup& setup, const std::vector<SweepPoint>& points,
                const Combinations& all, const MetricDef& metric) {
  const auto quoted = [](const std::string& text) {
    std::string out = "\"";
    for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + "\"";
  };
  std::string out = "point,rank,verdict";
  for (const SweepVariable& v : setup.variables) out += "," + v.name;
  out += "," + metric.name + ",jobs,p\n";
  for (const SweepPoint& point : points) {
    for (size_t i = 0; i < point.ranked.size(); ++i) {
      const SweepFigure& figure = point.ranked[i];
      out += fmt::format("{},{},{}", quoted(point_text(points, point)), i + 1,
                         quoted(i == 0 ? sweep_verdict_text(point.verdict) : ""));
      for (const std::string& value : all[figure.combination]) out += "," + quoted(value);
      out += fmt::format(",{},{},{}\n", figure.median, figure.jobs,
                         i == 0 ? "" : fmt::format("{:.3g}", figure.p));
    }
  }
  return out;
}

// The page with chart and table, written beside the figures.
std::string page(const SweepSetup& setup, const std::vector<SweepPoint>& points,
                 const std::vector<SweepOutcome>& outcomes, const Combinations& all,
                 const MetricDef& metric) {
  std::vector<SweepRow> rows;
  for (const std::vector<std::string>& values : all) {
    SweepRow row;
    for (const std::string& value : values) row.name += (row.name.empty() ? "" : " ") + value;
    rows.push_back(std::move(row));
  }
  for (const SweepOutcome& o : outcomes) {
    if (o.state != JobState::done) rows[o.job.combination].reason = o.reason.text();
  }
  std::vector<std::string> names;
  for (const SweepPoint& point : points) names.push_back(point_text(points, point));
  std::string title = "sweep of " + setup.arguments.front() + ":";
  for (const SweepVariable& v : setup.variables) title += " " + v.name;
  return sweep_page(title, rows, points, names, metric);
}

ExitCode sweep_code(const std::vector<SweepOutcome>& outcomes, bool figures) {
  bool all_done = true, wrong = false;
  for (const SweepOutcome& o : outcomes) {
    all_done &= o.state == JobState::done;
    wrong |= o.document && data_wrong(*o.document);
    if (o.refused) return ExitCode::usage;
  }
  if (stop_signals() > 0) return ExitCode::interrupted;
  if (wrong) return ExitCode::not_accepted;
  return all_done && figures ? ExitCode::ok : ExitCode::incomplete;
}

// "12 of 12 jobs done: 3 combinations and the first once more (A/A), 3 times, order drawn with seed
// 1".
std::string jobs_text(const SweepSetup& setup, const std::vector<SweepOutcome>& outcomes,
                      size_t combinations) {
  const auto done = std::ranges::count(outcomes, JobState::done, &SweepOutcome::state);
  const bool control = std::ranges::any_of(outcomes, [](const auto& o) { return o.job.control; });
  return fmt::format(
      "{} of {} jobs done: {} combination{}{}, {}, order drawn with seed {}", done, outcomes.size(),
      combinations, combinations == 1 ? "" : "s", control ? " and the first once more (A/A)" : "",
      setup.repeats == 1 ? std::string("once") : fmt::format("{} times", setup.repeats),
      setup.seed);
}

ExitCode conclude(const SweepSetup& setup, const std::vector<SweepOutcome>& outcomes,
                  const CaseInfo& info, const std::string& asked_metric,
                  std::vector<Said> unwritten) {
  const Combinations all = combinations(setup.variables);
  const std::vector<SweepRun> runs = runs_of(outcomes);
  std::optional<MetricDef> metric = sweep_metric(info, runs);
  for (const MetricDef& m : info.metrics) {
    if (m.name == asked_metric) metric = m;
  }
  std::vector<SweepPoint> points;
  if (metric) points = rank_sweep(runs, *metric);
  std::cout << terminal_safe(fmt::format("sweep of {}: {} → {}", info.name,
                                         jobs_text(setup, outcomes, all.size()),
                                         setup.directory.string()))
            << '\n';
  if (!points.empty()) {
    std::cout << sweep_table(points, names_of(setup, all), *metric) << std::flush;
    write_or_note(setup.directory / "sweep.csv", csv(setup, points, all, *metric), unwritten);
    write_or_note(setup.directory / "sweep.html", page(setup, points, outcomes, all, *metric),
                  unwritten);
  } else {
    std::cout << "no combination gave a figure\n";
  }
  for (const SweepOutcome& o : outcomes) {
    if (o.state != JobState::done)
      std::cout << terminal_safe(fmt::format("✗ {} in block {}: {}", values_text(setup, o.values),
                                             o.job.block + 1, o.reason.text()))
                << '\n';
  }
  const ExitCode code = sweep_code(outcomes, !points.empty());
  return tell_unwritten(unwritten) && code == ExitCode::ok ? ExitCode::runtime : code;
}

ExitCode sweep(const SweepOptions& options) {
  const Catalogue cases = catalogue();
  SweepSetup setup = sweep_setup(options, cases);
  fs::create_directories(setup.directory);
  catch_stop_signals();
  setup.executor.stop_signals = stop_signals;
  const size_t count =
      sweep_jobs(combinations(setup.variables).size(), setup.repeats, setup.seed).size();
  std::vector<Said> unwritten;
  const auto outcomes = run_sweep(
      setup,
      [&](size_t index, const SweepOutcome& o) {
        tell_ended(fmt::format("{}/{}", index + 1, count), values_text(setup, o.values), o);
      },
      &unwritten);
  return conclude(setup, outcomes, *find_case(cases, options.arguments[0]), options.metric,
                  std::move(unwritten));
}

std::vector<std::string> names_of_cases() {
  std::vector<std::string> names;
  for (const Case& c : all_cases()) {
    if (!c.info.hidden) names.push_back(c.info.name);
  }
  return names;
}

}  // namespace

void add_sweep_command(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("sweep",
                                     "the same measurement with each combination of environment "
                                     "variables, best per size if any is");
  const auto options = std::make_shared<SweepOptions>();
  sub->group("Measurements");
  sub->footer(
      "Example:\n  clusterbench sweep mpi --env OMPI_MCA_coll_tuned_use_dynamic_rules=0,1 "
      "--env UCX_TLS=inherit,tcp --launcher mpirun -- --op all_reduce --max-size 1M");
  sub->add_option("--env", options->variables,
                  "NAME=VALUE,VALUE,… to try; the value inherit leaves it as this shell has it")
      ->type_name("NAME=…")
      ->expected(1)
      ->take_all();
  sub->add_option("--metric", options->metric,
                  "what to compare [the first of the case that was measured]")
      ->type_name("NAME");
  add_series_options(*sub, options->series, "each combination", "sweep-<case>");
  offer(sub->add_option("case", options->case_name, "what to measure"), names_of_cases())
      ->type_name("CASE");
  // The options of the case need an option here: CLI11 hands the words after -- to the parent once
  // no positional is open.
  sub->add_option("options", options->case_options, "of the case, behind --")->type_name("-- …");
  sub->callback([&action, options] {
    if (!options->case_name.empty()) options->arguments = {options->case_name};
    options->arguments.insert(options->arguments.end(), options->case_options.begin(),
                              options->case_options.end());
    action = [options] { return sweep(*options); };
  });
}

}  // namespace cb
