#include <algorithm>

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

}  // namespace

bool is_worse(State after, State before) {
  return distance_from_pass(after) > distance_from_pass(before);
}

std::vector<VerdictChange> compare_verdicts(const Judgement& before, const Judgement& after) {
  std::vector<VerdictChange> out;
  for (const CriterionVerdict& now : after.criteria) {
    const CriterionVerdict* then = verdict_of(before, now.criterion->id);
    if (then != nullptr && then->state == now.state) continue;
    VerdictChange change{.criterion = now.criterion->id, .after = now.state, .reason = now.reason};
    if (then != nullptr) {
      change.before = then->state;
      change.kind = is_worse(now.state, then->state)   ? ChangeKind::worse
                    : is_worse(then->state, now.state) ? ChangeKind::better
                                                       : ChangeKind::same;
    }
    out.push_back(std::move(change));
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
