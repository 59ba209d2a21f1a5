#include "campaign/env_sweep.h"

#include <algorithm>
#include <random>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "campaign/job_reason.h"
#include "campaign/way_back.h"
#include "core/exit_code.h"
#include "core/file.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

bool is_variable_name(const std::string& name) {
  return !name.empty() &&
         name.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvw"
             "xyz0123456789_") == std::string::npos &&
         (name[0] < '0' || name[0] > '9');
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

fs::path file_of(const SweepSetup& setup, size_t index, const char* ending) {
  return setup.directory / fmt::format("{:03}.{}", index + 1, ending);
}

SweepOutcome outcome_of(const SweepSetup& setup, size_t index, const TaskEnd& end) {
  SweepOutcome out;
  const fs::path file = file_of(setup, index, "json");
  std::string problem = "it left no result document";
  if (fs::exists(file)) {
    try {
      out.document = parse_document(read_file(file), file.string());
    } catch (const Error& e) {
      problem = e.what();
    }
  }
  const JobEnd concluded = conclude_job(end, out.document ? &*out.document : nullptr, problem,
                                        {file_of(setup, index, "err"), 0}, setup.deadline_seconds);
  out.state = concluded.state;
  out.reason = concluded.reason;
  out.seconds = end.seconds;
  out.refused = end.kind == TaskEnd::Kind::exited && end.code == static_cast<int>(ExitCode::usage);
  return out;
}

// A document that cannot be kept (a full disk) costs its own run and no other.
SweepOutcome brought_back(const SweepSetup& setup, size_t index, const TaskEnd& end,
                          const WayBack& way) {
  try {
    bring_back(way);
    return outcome_of(setup, index, end);
  } catch (const Error& e) {
    return {.state = JobState::failed, .reason = e.said(), .seconds = end.seconds};
  }
}

nlohmann::json to_json(const SweepSetup& setup, const std::vector<SweepOutcome>& outcomes) {
  nlohmann::json runs = nlohmann::json::array();
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const SweepOutcome& o = outcomes[i];
    nlohmann::json run{{"values", o.values},
                       {"block", o.job.block + 1},
                       {"state", job_state_name(o.state)},
                       {"seconds", o.seconds}};
    if (o.job.control) run["control"] = true;
    if (!o.reason.empty()) run["reason"] = o.reason.text();
    if (o.document) run["document"] = file_of(setup, i, "json").filename().string();
    runs.push_back(std::move(run));
  }
  nlohmann::json variables = nlohmann::json::array();
  for (const SweepVariable& v : setup.variables)
    variables.push_back({{"name", v.name}, {"values", v.values}});
  return {{"schema", "clusterbench.sweep/2"}, {"arguments", setup.arguments},
          {"repeats", setup.repeats},         {"seed", setup.seed},
          {"variables", variables},           {"runs", runs}};
}

}  // namespace

std::vector<SweepVariable> parse_variables(const std::vector<std::string>& texts,
                                           Problems& problems) {
  std::vector<SweepVariable> out;
  std::set<std::string> names;
  size_t count = 1;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    if (equals == std::string::npos || !is_variable_name(name)) {
      problems.add("--env", fmt::format("'{}' is not NAME=VALUE,VALUE,…", text));
      continue;
    }
    if (!names.insert(name).second) problems.add("--env", name + " is given twice");
    SweepVariable variable{name, split(text.substr(equals + 1))};
    const std::set<std::string> distinct(variable.values.begin(), variable.values.end());
    if (distinct.size() != variable.values.size())
      problems.add("--env", fmt::format("{} has a value twice", name));
    count = std::min(count * variable.values.size(), kMaxCombinations + 1);
    out.push_back(std::move(variable));
  }
  if (count > kMaxCombinations)
    problems.add("--env", fmt::format("more than {} combinations", kMaxCombinations));
  return out;
}

std::vector<std::vector<std::string>> combinations(const std::vector<SweepVariable>& variables) {
  std::vector<std::vector<std::string>> out{{}};
  for (const SweepVariable& variable : variables) {
    std::vector<std::vector<std::string>> longer;
    for (const auto& begun : out) {
      for (const std::string& value : variable.values) {
        longer.push_back(begun);
        longer.back().push_back(value);
      }
    }
    out = std::move(longer);
  }
  return out;
}

std::vector<SweepJob> sweep_jobs(size_t combinations, size_t repeats, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<SweepJob> out;
  for (size_t block = 0; block < repeats; ++block) {
    const size_t begin = out.size();
    for (size_t c = 0; c < combinations; ++c) out.push_back({c, block});
    if (combinations > 1 && repeats > 1) out.push_back({0, block, true});
    // Fisher & Yates by the remainder: std::shuffle gives another order in every library.
    for (size_t left = out.size() - begin; left > 1; --left)
      std::swap(out[begin + left - 1], out[begin + random() % left]);
  }
  return out;
}

Command sweep_command(const SweepSetup& setup, const std::vector<std::string>& values,
                      const fs::path& json, const std::string& token) {
  std::map<std::string, std::string> environment;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != kInherit) environment[setup.variables[i].name] = values[i];
  }
  std::vector<std::string> program{setup.binary};
  program.insert(program.end(), setup.arguments.begin(), setup.arguments.end());
  program.insert(program.end(), {"--quiet", "--json", json.string()});
  if (!token.empty()) program.insert(program.end(), {"--return", token});
  return launch_command(setup.launch, setup.hosts, setup.ranks_per_host, environment, program);
}

std::vector<SweepOutcome> run_sweep(const SweepSetup& setup,
                                    const std::function<void(size_t, const SweepOutcome&)>& ended,
                                    std::vector<Said>* unwritten) {
  std::vector<SweepOutcome> outcomes;
  std::vector<Task> tasks;
  std::vector<WayBack> ways;
  const auto all = combinations(setup.variables);
  for (const SweepJob& job : sweep_jobs(all.size(), setup.repeats, setup.seed)) {
    const size_t index = tasks.size();
    const std::vector<std::string>& values = all[job.combination];
    ways.push_back(
        way_back(setup.launch, file_of(setup, index, "json"), file_of(setup, index, "out")));
    tasks.push_back({sweep_command(setup, values, ways.back().document, ways.back().token),
                     ways.back().out(), file_of(setup, index, "err"), setup.deadline_seconds});
    outcomes.push_back({.job = job, .values = values, .reason = said("sweep.not_run")});
  }
  bool refused = false;
  ExecutorOptions executor = setup.executor;
  executor.fan_out = 1;  // two jobs at once would disturb each other
  executor.stop_signals = [&] { return std::max(setup.executor.stop_signals(), refused ? 1 : 0); };
  run_tasks(tasks, executor,
            {.starting = [](size_t) {},
             .ended =
                 [&](size_t index, const TaskEnd& end) {
                   SweepOutcome outcome = brought_back(setup, index, end, ways[index]);
                   outcome.job = outcomes[index].job;
                   outcome.values = outcomes[index].values;
                   outcomes[index] = std::move(outcome);
                   refused |= outcomes[index].refused;
                   ended(index, outcomes[index]);
                 }});
  try {
    write_file_atomically(setup.directory / "sweep.json", to_json(setup, outcomes).dump(2) + "\n");
  } catch (const Error& e) {
    if (unwritten == nullptr) throw;
    unwritten->push_back(e.said());
  }
  return outcomes;
}

}  // namespace cb
