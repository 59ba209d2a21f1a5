// What the verdicts on all criteria say together.
#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"
#include "judge/verdict.h"

namespace cb {

const char* state_name(State state) {
  switch (state) {
    case State::pass:
      return "pass";
    case State::warn:
      return "warn";
    case State::fail:
      return "fail";
    case State::incomplete:
      return "incomplete";
    case State::not_applicable:
      return "not-applicable";
    case State::waived:
      return "waived";
  }
  return "";
}

size_t Judgement::count(State state) const {
  return static_cast<size_t>(
      std::count_if(criteria.begin(), criteria.end(),
                    [&](const CriterionVerdict& v) { return v.state == state; }));
}

State Judgement::overall() const {
  if (count(State::fail) > 0) return State::fail;
  if (!doubts.empty()) return State::incomplete;
  const size_t judged = count(State::pass) + count(State::warn) + count(State::waived);
  const bool whole = count(State::incomplete) == 0 && judged > 0 && !too_few_apply();
  return whole ? State::pass : State::incomplete;
}

std::optional<Message> Judgement::too_few_apply() const {
  size_t all = 0, applying = 0;
  for (const CriterionVerdict& v : criteria) {
    if (v.criterion->severity == Severity::warn) continue;
    ++all;
    applying += v.state == State::not_applicable ? 0 : 1;
  }
  if (2 * applying >= all) return std::nullopt;
  return Message{"verdict.few", {std::to_string(applying), std::to_string(all)}};
}

Problems profile_problems(const Judgement& judgement) {
  Problems out;
  for (const CriterionVerdict& v : judgement.criteria) {
    if (!v.impossible || !v.limit || !v.ceiling) continue;
    const Message why{
        "why.impossible",
        {format_value(*v.limit, v.unit), format_value(v.ceiling->value, v.unit), v.ceiling->how}};
    out.add(fmt::format("criteria[{}]", v.criterion->id), say(Lang::en, why));
  }
  return out;
}

const char* verdict_name(const Judgement& judgement) {
  switch (judgement.overall()) {
    case State::pass:
      return "accepted";
    case State::fail:
      return "not-accepted";
    default:
      return "incomplete";
  }
}

ExitCode exit_code(const Judgement& judgement) {
  switch (judgement.overall()) {
    case State::fail:
      return ExitCode::not_accepted;
    case State::incomplete:
      return ExitCode::incomplete;
    default:
      return ExitCode::ok;
  }
}

}  // namespace cb
