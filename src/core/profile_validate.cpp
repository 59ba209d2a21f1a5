// Checks a profile against the catalogue: what it names must exist and what it asks for must be
// possible.
#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/profile.h"
#include "core/profile_drills.h"
#include "core/profile_limits.h"
#include "core/profile_scope.h"
#include "core/profile_soak.h"
#include "core/suggest.h"

namespace cb {
namespace {

std::vector<std::string> case_names(const Catalogue& catalogue) {
  std::vector<std::string> out;
  for (const CaseInfo& info : catalogue) {
    if (std::find(out.begin(), out.end(), info.name) == out.end()) out.push_back(info.name);
  }
  return out;
}

std::vector<std::string> devices_of(const std::string& name, const Catalogue& catalogue) {
  std::vector<std::string> out;
  for (const CaseInfo& info : catalogue) {
    if (info.name == name && !info.device.empty()) out.push_back(info.device);
  }
  return out;
}

std::string device_problem(const Step& step, const Catalogue& catalogue) {
  const auto devices = devices_of(step.case_name, catalogue);
  if (devices.empty()) return "is unknown: the case has no device to choose";
  return unknown_name(step.params.at("device")[0], devices);
}

// "{rail}" as the number that it is replaced by, so that a parameter that is a number may have it.
GivenParams params_on_last_rail(const Step& step) {
  constexpr std::string_view kRail = "{rail}";
  GivenParams out = step.params;
  if (step.scope != Scope::rails) return out;
  const std::string last = std::to_string(std::max(0, step.rails - 1));
  for (auto& [name, values] : out) {
    for (std::string& value : values) {
      for (size_t at = value.find(kRail); at != std::string::npos; at = value.find(kRail, at))
        value.replace(at, kRail.size(), last);
    }
  }
  return out;
}

// A profile that plants a fault rejects every machine, or passes for a proof of something. `run
// --prove` plants them itself.
void refuse_fault(const Step& step, const std::string& where, Problems& problems) {
  if (step.informative || !step.params.contains("inject-fault")) return;
  problems.add(where + ".params.inject-fault",
               "plants a fault on purpose, and this step is judged: take it out (run --prove shows "
               "that the checks find faults), or say \"informative\": true with the reason in "
               "\"why\"");
}

void validate_step(const Step& step, const Catalogue& catalogue, Problems& problems) {
  const std::string where = fmt::format("steps[{}]", step.id);
  const CaseInfo* info = case_of(step, catalogue);
  if (info == nullptr) {
    const bool name_known = find_case(catalogue, step.case_name) != nullptr;
    return problems.add(where + (name_known ? ".params.device" : ".case"),
                        name_known ? device_problem(step, catalogue)
                                   : unknown_name(step.case_name, case_names(catalogue)));
  }
  Problems found;
  resolve_params(info->params, params_on_last_rail(step), found);
  for (const Problem& p : found.list) problems.add(where + ".params." + p.where.substr(2), p.what);
  refuse_fault(step, where, problems);
}

void validate_at(const GivenParams& at, const CaseInfo& info, const std::string& where,
                 Problems& problems) {
  std::vector<std::string> names;
  for (const ParamDef& def : info.params) names.push_back(def.name);
  for (const auto& [name, values] : at) {
    const auto def = std::ranges::find(info.params, name, &ParamDef::name);
    if (def == info.params.end()) {
      problems.add(where + ".at." + name, unknown_name(name, names));
      continue;
    }
    for (const std::string& value : values) {
      Problems found;
      resolve_params(std::span(&*def, 1), {{name, {value}}}, found);
      for (const Problem& p : found.list) problems.add(where + ".at." + name, p.what);
    }
  }
}

// The step named by `since` must run before this one and measure the same.
void validate_since(const Criterion& criterion, const Profile& profile, Problems& problems) {
  const auto* rule = std::get_if<MetricRule>(&criterion.rule);
  if (rule == nullptr || rule->since.empty()) return;
  const auto step = [&](const std::string& id) {
    return std::find_if(profile.steps.begin(), profile.steps.end(),
                        [&](const Step& s) { return s.id == id; });
  };
  const auto before = step(rule->since), now = step(criterion.step);
  const std::string where = fmt::format("criteria[{}].since", criterion.id);
  if (before == profile.steps.end())
    problems.add(where, fmt::format("{} is no step of the profile", rule->since));
  else if (now == profile.steps.end() || before >= now)
    problems.add(where, fmt::format("{} does not run before {}", rule->since, criterion.step));
  else if (before->case_name != now->case_name)
    problems.add(where, fmt::format("{} runs {}, and {} runs {}", rule->since, before->case_name,
                                    criterion.step, now->case_name));
}

void validate_rule(const Criterion& criterion, const CaseInfo& info, Problems& problems) {
  const std::string where = fmt::format("criteria[{}]", criterion.id);
  if (const auto* rule = std::get_if<MetricRule>(&criterion.rule)) {
    std::vector<std::string> names;
    for (const MetricDef& def : info.metrics) names.push_back(def.name);
    const auto def = std::find(names.begin(), names.end(), rule->metric);
    if (def == names.end())
      problems.add(where + ".metric", unknown_name(rule->metric, names));
    else
      validate_limits(*rule, info.metrics[static_cast<size_t>(def - names.begin())], where,
                      problems);
    validate_at(rule->at, info, where, problems);
  } else if (const auto* check = std::get_if<CheckRule>(&criterion.rule)) {
    if (std::find(info.checks.begin(), info.checks.end(), check->check) == info.checks.end())
      problems.add(where + ".check", unknown_name(check->check, info.checks));
    validate_at(check->at, info, where, problems);
  } else if (const auto* soak = std::get_if<SoakRule>(&criterion.rule)) {
    validate_soak_rule(*soak, info, where, problems);
    if (soak->kind == SoakRule::Kind::decay) validate_at(soak->at, info, where, problems);
  }
}

// Of a drill the figures and checks of its record can be judged.
void validate_drill(const Criterion& c, Problems& problems) {
  std::vector<std::string> steps;
  for (const std::string& drill : known_drills()) steps.push_back(drill_step(drill));
  if (std::ranges::find(steps, c.step) == steps.end())
    return problems.add(fmt::format("criteria[{}].step", c.id), unknown_name(c.step, steps));
  if (!std::holds_alternative<MetricRule>(c.rule) && !std::holds_alternative<CheckRule>(c.rule))
    return problems.add(fmt::format("criteria[{}]", c.id),
                        "judges a drill: take a metric or a check of it");
  const auto* rule = std::get_if<MetricRule>(&c.rule);
  if (rule != nullptr && (rule->min_of_fleet || rule->max_of_fleet ||
                          rule->compares_parts_of_host() || !rule->since.empty()))
    problems.add(fmt::format("criteria[{}]", c.id),
                 "a drill has no fleet and no parts: give min or max");
  validate_rule(c, drill_info(drill_of_step(c.step)), problems);
}

// A measurement that no criterion judges would be taken and forgotten.
void require_judges(const Profile& profile, Problems& problems) {
  for (const Step& step : profile.steps) {
    if (step.informative) continue;
    const auto judges = [&](const Criterion& c) { return c.step == step.id && judges_figures(c); };
    if (std::ranges::none_of(profile.criteria, judges))
      problems.add(fmt::format("steps[{}]", step.id),
                   "is judged by no criterion: add one, or say \"informative\": true with the "
                   "reason in \"why\"");
  }
}

// A profile that can reject nothing is useless.
void require_rejection(const Profile& profile, Problems& problems) {
  if (profile.criteria.empty())
    return problems.add("criteria", "are missing: this profile judges nothing");
  if (std::ranges::find(profile.criteria, Severity::fail, &Criterion::severity) ==
      profile.criteria.end())
    problems.add("criteria", "have severity warn, all of them: nothing in this profile can fail");
}

}  // namespace

bool is_step_id(const std::string& id) {
  return !id.empty() && id.size() <= 100 && id[0] != '.' && id[0] != '-' &&
         id.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
             "._-") == std::string::npos;
}

const CaseInfo* case_of(const Step& step, const Catalogue& catalogue) {
  const auto device = step.params.find("device");
  return find_case(catalogue, step.case_name,
                   device == step.params.end() || device->second.empty() ? "" : device->second[0]);
}

Problems validate_profile(const Profile& profile, const Catalogue& catalogue) {
  Problems problems;
  std::vector<std::string> ids;
  for (const Step& step : profile.steps) {
    ids.push_back(step.id);
    if (!is_step_id(step.id)) problems.add(fmt::format("steps[{}].id", step.id), kStepIdRule);
    validate_needs(step.needs, fmt::format("steps[{}]", step.id), problems);
    validate_step(step, catalogue, problems);
    validate_scope(step, problems);
  }
  for (const Criterion& c : profile.criteria) {
    const auto step = std::find_if(profile.steps.begin(), profile.steps.end(),
                                   [&](const Step& s) { return s.id == c.step; });
    validate_needs(step == profile.steps.end() ? c.needs : merge_needs(c.needs, step->needs),
                   fmt::format("criteria[{}]", c.id), problems);
    if (is_drill_step(c.step)) {
      validate_drill(c, problems);
    } else if (step == profile.steps.end()) {
      problems.add(fmt::format("criteria[{}].step", c.id), unknown_name(c.step, ids));
    } else if (const CaseInfo* info = case_of(*step, catalogue)) {
      validate_rule(c, *info, problems);
      validate_since(c, profile, problems);
    }
  }
  validate_soak(profile, problems);
  require_judges(profile, problems);
  require_rejection(profile, problems);
  return problems;
}

}  // namespace cb
