#include "report/summary.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"
#include "report/chart.h"
#include "report/markdown.h"

namespace cb {
namespace {

constexpr size_t kMaxSummaryEntities = 8;  // per criterion

std::string title_of(const Criterion& c, Lang lang) {
  const std::string& title = lang == Lang::zh && !c.title.zh.empty() ? c.title.zh : c.title.en;
  return title.empty() ? c.id : title;
}

// "node017:mlx5_3 (211 Gb/s), node020:mlx5_1 (198 Gb/s) and 3 more"
std::string entities_text(const CriterionVerdict& v, const Texts& t) {
  std::string out;
  for (size_t i = 0; i < std::min(v.failing.size(), kMaxSummaryEntities); ++i) {
    const Finding& f = v.failing[i];
    out += (i > 0 ? ", " : "") + entity_name(f.entity);
    if (f.value && f.detail.empty()) out += " (" + format_value(*f.value, f.unit) + ")";
  }
  if (v.failing.size() > kMaxSummaryEntities)
    out += " " + t("list.more", v.failing.size() - kMaxSummaryEntities);
  return out;
}

std::string row(const CriterionVerdict& v, const Texts& t) {
  const std::string limit =
      v.limit ? (v.limit_is_minimum ? "≥ " : "≤ ") + format_value(*v.limit, v.unit) : "–";
  return fmt::format(
      "| {} {} | {} | {} | {} | {} |\n", state_mark(v.state),
      t(std::string("state.") + state_name(v.state)),
      markdown_escape(title_of(*v.criterion, t.lang())),
      v.value ? markdown_escape(format_value(*v.value, v.unit)) : "–", markdown_escape(limit),
      markdown_escape(v.failing.empty() ? say_all(t.lang(), v.why) : entities_text(v, t)));
}

const char* verdict_id(const Judgement& judgement) {
  switch (judgement.overall()) {
    case State::pass:
      return judgement.count(State::waived) > 0 ? "verdict.waived" : "verdict.pass";
    case State::fail:
      return "verdict.fail";
    default:
      return "verdict.incomplete";
  }
}

const std::string& profile_name(const Campaign& campaign, const Judgement& judgement) {
  return judgement.judged_by.empty() ? campaign.profile.name : judgement.judged_by;
}

}  // namespace

std::string render_summary(const Campaign& campaign, const Judgement& judgement, Lang lang) {
  const Texts t(lang);
  std::string out =
      fmt::format("## {} {}\n\n", state_mark(judgement.overall()), t(verdict_id(judgement)));
  for (const Said& doubt : judgement.doubts)
    out += "**" + markdown_escape(t("verdict.doubt", doubt.in(lang))) + "**\n\n";
  if (judgement.test_profile) out += t("verdict.test_profile") + "\n\n";
  if (!judgement.proofs.empty()) out += markdown_escape(say_all(lang, judgement.proofs)) + "\n\n";
  if (const auto few = judgement.too_few_apply()) out += say(lang, *few) + "\n\n";
  for (const State s : {State::pass, State::fail, State::incomplete, State::warn, State::waived,
                        State::not_applicable}) {
    if (judgement.count(s) == 0) continue;
    out += fmt::format("{} {} {} · ", state_mark(s), judgement.count(s),
                       t(std::string("state.") + state_name(s)));
  }
  out += markdown_escape(t.count("head.hosts", campaign.hosts.size(),
                                 campaign.hosts.empty() ? "–" : campaign.hosts.front())) +
         " · " + markdown_escape(profile_name(campaign, judgement)) + "\n";
  std::string rows;
  for (const CriterionVerdict& v : judgement.criteria) {
    if (v.state == State::fail || v.state == State::incomplete || v.state == State::warn ||
        v.state == State::waived)
      rows += row(v, t);
  }
  if (rows.empty()) return out;
  return out + fmt::format("\n| {} | {} | {} | {} | {} |\n| --- | --- | ---: | ---: | --- |\n{}",
                           t("col.result"), t("col.test"), t("col.measured"), t("col.required"),
                           t("col.where"), rows);
}

}  // namespace cb
