// The top of the report: what was tested, the verdict, what would change it, and the counts.
#include <fmt/format.h>

#include "core/units.h"
#include "report/view_parts.h"

namespace cb {
namespace {

std::string tool_line(const ToolInfo& tool, const Texts& t) {
  return t("head.tool", tool.version, tool.commit.substr(0, 12)) +
         (tool.dirty ? t("head.tool_modified") : "");
}

void fill_facts(View& view, const ReportInput& in) {
  const Campaign& c = in.campaign;
  const Texts& t = in.t;
  view.facts.push_back(t("head.profile", c.profile.name, c.profile.sha256));
  view.facts.push_back(c.ended.empty() ? t("head.unfinished", c.id, c.started)
                                       : t("head.period", c.id, c.started, c.ended));
  view.facts.push_back(t.count("head.hosts", c.hosts.size(), name_list(c.hosts, 8, t)));
  view.facts.push_back(tool_line(c.tool, t));
}

// The sentences behind the verdict: the number of criteria in each state.
std::vector<std::string> verdict_reasons(const Judgement& j, const Texts& t) {
  std::vector<std::string> out;
  const auto add = [&](const char* id, size_t n) {
    if (n > 0) out.push_back(t.count(id, n));
  };
  if (j.test_profile) out.push_back(t("verdict.test_profile"));
  if (const auto few = j.too_few_apply()) out.push_back(say(t.lang(), *few));
  const size_t failed = j.count(State::fail);
  const size_t missing = j.count(State::incomplete);
  if (j.overall() == State::pass) {
    add("verdict.met", j.count(State::pass));
    add("verdict.warnings", j.count(State::warn));
    add("verdict.waivers", j.count(State::waived));
    return out;
  }
  for (const Said& doubt : j.doubts) out.push_back(t("verdict.doubt", doubt.in(t.lang())));
  if (failed + missing == 0 && j.doubts.empty() && !j.too_few_apply())
    out.push_back(t("verdict.nothing"));
  add("verdict.failed", failed);
  add("verdict.missing", missing);
  if (failed + missing > 0) add("verdict.others", j.criteria.size() - failed - missing);
  return out;
}

void fill_verdict(View& view, const ReportInput& in) {
  const Texts& t = in.t;
  view.overall = in.judgement.overall();
  view.verdict_mark = state_mark(view.overall);
  const bool waived = in.judgement.count(State::waived) > 0;
  view.verdict = view.overall == State::pass   ? t(waived ? "verdict.waived" : "verdict.pass")
                 : view.overall == State::fail ? t("verdict.fail")
                                               : t("verdict.incomplete");
  for (const std::string& sentence : verdict_reasons(in.judgement, t))
    view.verdict_reason += (view.verdict_reason.empty() ? "" : t.gap()) + sentence;
}

// What must change so that this criterion is met.
std::string what_it_lacks(const CriterionVerdict& verdict, const Texts& t) {
  const std::string title = criterion_title(*verdict.criterion, t);
  const std::string where = verdict.worst ? entity_name(*verdict.worst) : t("lacks.somewhere");
  if (std::holds_alternative<DeliveryRule>(verdict.criterion->rule)) return t("lacks.delivery");
  if (std::holds_alternative<StepRule>(verdict.criterion->rule))
    return verdict.state == State::incomplete
               ? t("lacks.step", verdict.criterion->step)
               : t("lacks.step_data", verdict.criterion->step, where);
  if (verdict.state == State::incomplete) return t("lacks.measure", title, verdict.criterion->step);
  if (std::holds_alternative<UniformRule>(verdict.criterion->rule))
    return t("lacks.uniform", title, where);
  if (std::holds_alternative<ExpectRule>(verdict.criterion->rule))
    return t("lacks.ordered", title, where);
  if (std::holds_alternative<CheckRule>(verdict.criterion->rule) || !verdict.value ||
      !verdict.limit)
    return t("lacks.check", title, where);
  return t("lacks.value", title, limit_text(verdict), where,
           format_value(*verdict.value, verdict.unit));
}

void fill_counterfactual(View& view, const ReportInput& in) {
  if (!in.judgement.doubts.empty()) view.counterfactual.push_back(in.t("lacks.evidence"));
  for (const CriterionVerdict* verdict : worst_first(in.judgement)) {
    if (verdict->state != State::fail && verdict->state != State::incomplete) continue;
    view.counterfactual.push_back(what_it_lacks(*verdict, in.t));
  }
  if (!view.counterfactual.empty()) view.counterfactual_heading = in.t("lacks.heading");
}

}  // namespace

void fill_head(View& view, const ReportInput& in) {
  const Texts& t = in.t;
  view.language = t("language");
  view.document = t("head.document");
  const std::string& title = local(in.campaign.profile.title, t.lang());
  view.title = title.empty() ? in.campaign.profile.name : title;
  fill_facts(view, in);
  fill_verdict(view, in);
  fill_counterfactual(view, in);
  view.counts_heading = t("counts.heading");
  for (const State state : {State::fail, State::incomplete, State::warn, State::waived, State::pass,
                            State::not_applicable})
    view.counts.push_back({state, state_mark(state), t(std::string("state.") + state_name(state)),
                           in.judgement.count(state)});
  view.footer = t("footer", in.campaign.id, in.campaign.tool.version);
}

}  // namespace cb
