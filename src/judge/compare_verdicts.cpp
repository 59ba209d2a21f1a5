#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "judge/capture.h"
#include "judge/compare_parts.h"

namespace cb {
namespace {

int distance_from_pass(State state) {
  switch (state) {
    case State::pass:
      return 0;
    case State::warn:
    case State::waived:
      return 1;
    case State::not_applicable:
      return 2;
    case State::incomplete:
      return 3;
    case State::fail:
      return 4;
  }
  return 4;
}

const CriterionVerdict* verdict_of(const Judgement& judgement, const std::string& id) {
  const auto found = std::ranges::find_if(
      judgement.criteria, [&](const CriterionVerdict& v) { return v.criterion->id == id; });
  return found == judgement.criteria.end() ? nullptr : &*found;
}

// "criteria[x].min: 3 → 4" gives x and "min: 3 → 4".
std::optional<std::pair<std::string, std::string>> rule_change(const std::string& line) {
  constexpr std::string_view kBegin = "criteria[";
  const size_t begin = line.find(kBegin), end = line.find("].");
  if (begin == std::string::npos || end == std::string::npos) return std::nullopt;
  std::string what = line.substr(end + 2);
  for (const std::string_view text : {"title", "why", "source", "domain"}) {
    if (what.starts_with(text)) return std::nullopt;
  }
  const size_t id = begin + kBegin.size();
  return std::pair(line.substr(id, end - id), std::move(what));
}

// Returns, for each criterion that both profiles have, how its rule has changed.
std::map<std::string, std::string> changed_rules(const Profile& before, const Profile& after) {
  std::map<std::string, std::string> out;
  if (before.sha256 == after.sha256 || before.resolved.empty() || after.resolved.empty())
    return out;
  for (const std::string& line : profile_differences(before.resolved, after.resolved)) {
    const auto change = rule_change(line);
    if (!change) continue;
    std::string& text = out[change->first];
    text += (text.empty() ? "it asks for something else, " : ", ") + change->second;
  }
  return out;
}

// A criterion with another rule can become worse, but is never called better or the same.
VerdictChange change_of_verdict(const CriterionVerdict* then, const CriterionVerdict& now,
                                const std::string& other_rule) {
  VerdictChange out{.criterion = now.criterion->id, .after = now.state};
  if (now.state != State::pass) out.reason = now.reason;
  if (then == nullptr) return out;
  out.before = then->state;
  out.kind = is_worse(now.state, then->state)   ? ChangeKind::worse
             : is_worse(then->state, now.state) ? ChangeKind::better
                                                : ChangeKind::same;
  if (other_rule.empty()) return out;
  if (out.kind != ChangeKind::worse) out.kind = ChangeKind::undecided;
  out.reason = other_rule + (out.reason.empty() ? "" : "; ") + out.reason;
  return out;
}

}  // namespace

bool is_worse(State after, State before) {
  return distance_from_pass(after) > distance_from_pass(before);
}

std::vector<VerdictChange> compare_verdicts(const Compared& one, const Compared& other) {
  const Judgement &before = one.judgement, &after = other.judgement;
  const std::map<std::string, std::string> rules =
      changed_rules(one.campaign.profile, other.campaign.profile);
  std::vector<VerdictChange> out;
  for (const CriterionVerdict& now : after.criteria) {
    const CriterionVerdict* then = verdict_of(before, now.criterion->id);
    const auto rule = rules.find(now.criterion->id);
    if (then == nullptr || then->state != now.state || rule != rules.end())
      out.push_back(change_of_verdict(then, now, rule == rules.end() ? "" : rule->second));
  }
  for (const CriterionVerdict& then : before.criteria) {
    if (verdict_of(after, then.criterion->id) == nullptr)
      out.push_back({.criterion = then.criterion->id, .before = then.state});
  }
  const auto rank = [](const VerdictChange& c) {
    return c.kind == ChangeKind::worse ? 0 : c.kind == ChangeKind::undecided ? 1 : 2;
  };
  std::ranges::stable_sort(out, {}, rank);
  return out;
}

}  // namespace cb
