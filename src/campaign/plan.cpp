#include "campaign/plan.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "campaign/executor.h"
#include "campaign/run.h"
#include "campaign/step_groups.h"
#include "core/json/json_text.h"
#include "core/profile_soak.h"
#include "core/sha256.h"

namespace cb {
namespace {

void refuse_bad_ids(const Profile& profile) {
  Problems problems;
  for (const Step& step : profile.steps) {
    if (!is_step_id(step.id)) problems.add(fmt::format("steps[{}].id", step.id), kStepIdRule);
  }
  if (!problems.empty()) throw UsageError("profile " + profile.name, problems);
}

void refuse_too_many(const Profile& profile, size_t hosts) {
  Problems problems;
  for (const Step& step : profile.steps) {
    if (step.scope == Scope::host || step.scope == Scope::cluster) continue;
    const bool cycles = profile.soak && profile.soak->has(step.id);
    const size_t of_round = step.scope != Scope::pairs ? place_groups(step, hosts).size()
                            : hosts < 2                ? 0
                                                       : hosts * (hosts - 1) / 2;
    const size_t jobs = of_round * (cycles ? profile.soak->cycles() : 1);
    if (jobs > kMaxGroupJobs)
      problems.add(fmt::format("steps[{}].scope", step.id),
                   fmt::format("is {}: that is {} jobs on {} hosts, and at most {} are run; take "
                               "larger groups, or the case tcp or verbs with \"schedule\": "
                               "\"tournament\", which measures every pair within one job",
                               scope_name(step.scope), jobs, hosts, kMaxGroupJobs));
  }
  if (!problems.empty()) throw UsageError("profile " + profile.name, problems);
}

void add_option(std::vector<std::string>& argv, const std::string& name, const std::string& value) {
  if (value.starts_with('-')) {
    argv.push_back("--" + name + "=" + value);  // as a separate word it would be an option
  } else {
    argv.push_back("--" + name);
    argv.push_back(value);
  }
}

bool is_flag(const CaseInfo& info, const std::string& name) {
  return std::any_of(info.params.begin(), info.params.end(), [&](const ParamDef& def) {
    return def.name == name && def.type == ParamType::flag;
  });
}

}  // namespace

std::vector<StepRound> plan_rounds(const Profile& profile) {
  std::vector<StepRound> out;
  for (size_t i = 0; i < profile.steps.size();) {
    if (!profile.soak || !profile.soak->has(profile.steps[i].id)) {
      out.push_back({i++, 0});
      continue;
    }
    size_t end = i;
    while (end < profile.steps.size() && profile.soak->has(profile.steps[end].id)) ++end;
    for (size_t cycle = 1; cycle <= profile.soak->cycles(); ++cycle) {
      for (size_t step = i; step < end; ++step) out.push_back({step, cycle});
    }
    for (size_t step = i; step < end; ++step) {
      if (is_reading(profile, profile.steps[step]))
        out.push_back({step, profile.soak->cycles() + 1});
    }
    i = end;
  }
  return out;
}

std::vector<JobKey> plan_jobs(const Profile& profile, const std::vector<std::string>& hosts,
                              bool has_spares, size_t places) {
  const size_t at_once = places == 0 ? hosts.size() : places;
  refuse_bad_ids(profile);
  refuse_too_many(profile, at_once);
  std::vector<JobKey> out;
  for (const StepRound& round : plan_rounds(profile)) {
    const Step& step = profile.steps[round.step];
    std::string stem = fmt::format("{:03}-{}", round.step + 1, step.id);
    if (round.cycle > 0) stem += fmt::format("~{:04}", round.cycle);
    if (step.scope == Scope::cluster) {
      out.push_back({round.step, "", stem, round.cycle});
    } else if (step.scope == Scope::host) {
      for (const std::string& host : hosts)
        out.push_back({round.step, host,
                       hosts.size() == 1 && !has_spares ? stem : stem + "@" + host, round.cycle});
    } else {
      for (PlaceGroup& g : place_groups(step, at_once))
        out.push_back({round.step, "", stem + "@" + g.name, round.cycle, g.name,
                       std::move(g.places), g.turn, g.rail});
    }
  }
  return out;
}

StepCost step_cost(const Step& step, size_t hosts, size_t fan_out) {
  std::map<size_t, size_t> jobs_of_turn;
  if (step.scope == Scope::cluster) jobs_of_turn[0] = 1;
  if (step.scope == Scope::host) jobs_of_turn[0] = hosts;
  for (const PlaceGroup& g : place_groups(step, hosts)) ++jobs_of_turn[g.turn];
  StepCost out{.turns = jobs_of_turn.size()};
  size_t starts = 0;  // one after the other
  for (const auto& [turn, jobs] : jobs_of_turn) {
    out.jobs += jobs;
    out.side_by_side = std::max(out.side_by_side, std::min(jobs, fan_out));
    starts += (jobs + fan_out - 1) / fan_out;
  }
  const double of_start =
      step.deadline_seconds + kLateSeconds + ExecutorOptions{}.term_grace_seconds;
  out.longest_seconds = static_cast<double>(starts) * of_start * (1 + step.retries);
  return out;
}

double longest_seconds(const Profile& profile, size_t hosts, size_t fan_out) {
  std::vector<double> of_step;
  for (const Step& step : profile.steps)
    of_step.push_back(step_cost(step, hosts, fan_out).longest_seconds);
  double out = 0;
  std::map<size_t, double> of_cycle;
  for (const StepRound& round : plan_rounds(profile))
    (round.cycle > 0 ? of_cycle[round.cycle] : out) += of_step[round.step];
  for (const auto& [cycle, seconds] : of_cycle) {
    const bool rests = cycle < profile.soak->cycles();
    out += rests ? std::max(seconds, profile.soak->every_seconds) : seconds;
  }
  return out;
}

std::map<std::string, std::string> step_environment(const Step& step) {
  std::map<std::string, std::string> out = step.env;
  if (step.start_deadline_seconds > 0) out.emplace("CLUSTERBENCH_SAY_STARTED", "1");
  return out;
}

std::vector<std::string> step_arguments(const Step& step, const CaseInfo& info,
                                        const JobProgram& program) {
  std::vector<std::string> argv{program.binary, step.case_name};
  for (const auto& [name, values] : step.params) {
    if (is_flag(info, name))
      argv.push_back((values.at(0) == "true" ? "--" : "--no-") + name);
    else
      add_option(argv, name, fmt::format("{}", fmt::join(values, ",")));
  }
  if (info.needs.directory && !step.params.contains("dir") && !step.params.contains("file"))
    add_option(argv, "dir", program.scratch.string());
  add_option(argv, "deadline", fmt::format("{}s", step.deadline_seconds));
  if (step.stall_seconds > 0) add_option(argv, "stall", fmt::format("{}s", step.stall_seconds));
  if (program.redact) argv.emplace_back("--redact");
  argv.emplace_back("--no-color");
  if (!program.token.empty()) add_option(argv, "return", program.token);
  add_option(argv, "json", program.record.string());
  return argv;
}

std::string fingerprint(const Command& command, const ToolInfo& tool,
                        const std::string& profile_sha256) {
  return sha256_hex(dump_json({{"argv", command.argv},
                               {"environment", command.environment},
                               {"version", tool.version},
                               {"commit", tool.commit},
                               {"dirty", tool.dirty},
                               {"profile", profile_sha256}}));
}

}  // namespace cb
