#include "judge/steps_fit.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/units.h"

namespace cb {
namespace {

using StepValues = std::vector<std::string>;

// "groups of 4", "8 rails".
std::string scope_text(const Step& step) {
  if (step.scope == Scope::groups) return fmt::format("groups of {}", step.group_size);
  if (step.scope == Scope::rails) return fmt::format("{} rails", step.rails);
  return scope_name(step.scope);
}

std::string ranks_text(int ranks) { return ranks == 0 ? "slots" : std::to_string(ranks); }

// "8G" and "8192M" are the same size, "60s" and "1m" the same duration.
bool same_value(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const auto size = parse_size(a);
  if (size && size == parse_size(b)) return true;
  const auto duration = parse_duration(a);
  if (duration && duration == parse_duration(b)) return true;
  const auto number = parse_number(a);
  return number && number == parse_number(b);
}

bool same_values(const StepValues& a, const StepValues& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_value);
}

StepValues step_values(const Step& step, const std::string& name, const CaseInfo* info) {
  if (const auto found = step.params.find(name); found != step.params.end()) return found->second;
  if (info == nullptr) return {};
  const auto def = std::ranges::find(info->params, name, &ParamDef::name);
  if (def == info->params.end() || def->default_text.empty()) return {};
  StepValues out(1);
  for (const char c : def->default_text) {
    if (c == ',' && def->list)
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

Said differs(const std::string& what, const std::string& ran, const std::string& asked) {
  return said("fit.env", what, ran.empty() ? "none" : ran, asked.empty() ? "none" : asked);
}

std::optional<Said> other_params(const Step& ran, const Step& asked, const CaseInfo* info) {
  std::set<std::string> names;
  for (const Step* step : {&ran, &asked}) {
    for (const auto& [name, values] : step->params) names.insert(name);
  }
  for (const std::string& name : names) {
    const StepValues has = step_values(ran, name, info), wants = step_values(asked, name, info);
    // A profile that names no directory accepts any: `run --dir` gave one.
    if (name == "dir" && wants.empty()) continue;
    if (!same_values(has, wants))
      return differs(name, fmt::format("{}", fmt::join(has, ",")),
                     fmt::format("{}", fmt::join(wants, ",")));
  }
  return std::nullopt;
}

std::optional<Said> other_environment(const Step& ran, const Step& asked) {
  std::set<std::string> names;
  for (const Step* step : {&ran, &asked}) {
    for (const auto& [name, value] : step->env) names.insert(name);
  }
  for (const std::string& name : names) {
    const auto has = ran.env.find(name), wants = asked.env.find(name);
    const std::string before = has == ran.env.end() ? "" : has->second;
    const std::string now = wants == asked.env.end() ? "" : wants->second;
    if (before != now) return differs(name, before, now);
  }
  return std::nullopt;
}

std::optional<Said> difference(const Step& ran, const Step& asked, const Catalogue& catalogue) {
  if (ran.case_name != asked.case_name) return differs("case", ran.case_name, asked.case_name);
  if (scope_text(ran) != scope_text(asked))
    return differs("scope", scope_text(ran), scope_text(asked));
  if (ran.ranks_per_host != asked.ranks_per_host)
    return differs("ranks_per_host", ranks_text(ran.ranks_per_host),
                   ranks_text(asked.ranks_per_host));
  if (auto other = other_params(ran, asked, case_of(asked, catalogue))) return other;
  return other_environment(ran, asked);
}

}  // namespace

void require_same_steps(Campaign& campaign, const Profile& profile, const Catalogue& catalogue) {
  for (const Step& asked : profile.steps) {
    const auto ran = std::ranges::find(campaign.profile.steps, asked.id, &Step::id);
    if (ran == campaign.profile.steps.end()) continue;
    const auto other = difference(*ran, asked, catalogue);
    if (!other) continue;
    for (Job& job : campaign.jobs) {
      if (job.step != asked.id) continue;
      job.state = JobState::missing;
      job.reason = *other;
      job.curable = false;
      job.document.reset();
    }
  }
}

}  // namespace cb
