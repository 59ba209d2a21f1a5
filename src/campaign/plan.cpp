#include "campaign/plan.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/json/json_text.h"
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

std::vector<Round> plan_rounds(const Profile& profile) {
  std::vector<Round> out;
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
    i = end;
  }
  return out;
}

std::vector<JobKey> plan_jobs(const Profile& profile, const std::vector<std::string>& hosts,
                              bool has_spares) {
  refuse_bad_ids(profile);
  std::vector<JobKey> out;
  for (const Round& round : plan_rounds(profile)) {
    const Step& step = profile.steps[round.step];
    std::string stem = fmt::format("{:03}-{}", round.step + 1, step.id);
    if (round.cycle > 0) stem += fmt::format("~{:04}", round.cycle);
    if (step.scope == Scope::cluster) {
      out.push_back({round.step, "", stem, round.cycle});
      continue;
    }
    for (const std::string& host : hosts)
      out.push_back({round.step, host, hosts.size() == 1 && !has_spares ? stem : stem + "@" + host,
                     round.cycle});
  }
  return out;
}

double longest_seconds(const Profile& profile, size_t hosts, size_t fan_out) {
  double out = 0;
  for (const Round& round : plan_rounds(profile)) {
    const Step& step = profile.steps[round.step];
    const size_t jobs = step.scope == Scope::cluster ? 1 : hosts;
    const size_t turns = (jobs + fan_out - 1) / fan_out;
    out += static_cast<double>(turns) * step.deadline_seconds * (1 + step.retries);
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
