// The criteria: the open ones, all of them with their figures, and the waivers.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "core/profile_drills.h"
#include "core/units.h"
#include "report/view_parts.h"

namespace cb {
namespace {

constexpr size_t kMaxBars = 30;
constexpr double kMaxBar = 3;  // times the requirement: a longer bar would not be easier to read

std::string source_text(const CriterionVerdict& verdict, const Texts& t) {
  const Source& source = verdict.criterion->source;
  std::string out = has_text("source." + source.kind) ? t("source." + source.kind) : source.kind;
  const std::string& ref = local(source.ref, t.lang());
  if (!ref.empty()) out += (out.empty() ? "" : " · ") + ref;
  if (!source.date.empty()) out += (out.empty() ? "" : ", ") + source.date;
  if (verdict.criterion->severity == Severity::warn)
    out += (out.empty() ? "" : " · ") + t("source.advisory");
  return out;
}

std::string worst_text(const CriterionVerdict& verdict, const Texts& t) {
  if (!verdict.worst) return "–";
  std::string out = entity_name(*verdict.worst);
  if (verdict.entities > 1) out += " " + t("criteria.of", verdict.entities);
  return out;
}

std::string title_text(const CriterionVerdict& verdict, const Texts& t) {
  std::string out = criterion_title(*verdict.criterion, t);
  if (!verdict.at.empty()) out += " · " + verdict.at;
  return out;
}

// The judge's sentences in the reader's language, including the next step.
std::string finding(const CriterionVerdict& verdict, const Texts& t) {
  if (!verdict.why.empty()) return say_all(t.lang(), verdict.why);
  if (!verdict.reason.empty()) return verdict.reason;
  if (verdict.value && verdict.limit)
    return t("open.finding", format_value(*verdict.value, verdict.unit), limit_text(verdict));
  return t("open.no_reason");
}

// The unit of a metric as recorded, else as this version measures it; empty if both are unknown.
std::string unit_of(const ReportInput& in, const Criterion& criterion, const std::string& metric) {
  for (const MetricGroup& group : in.groups) {
    if (group.step->id == criterion.step && group.metric == metric) return group.unit;
  }
  const auto unit_in = [&](const CaseInfo& info) {
    const auto found = std::ranges::find(info.metrics, metric, &MetricDef::name);
    return found == info.metrics.end() ? std::string() : found->unit;
  };
  if (is_drill_step(criterion.step)) return unit_in(drill_info(drill_of_step(criterion.step)));
  const auto step = std::ranges::find(in.campaign.profile.steps, criterion.step, &Step::id);
  if (step == in.campaign.profile.steps.end()) return "";
  const CaseInfo* info = case_of(*step, in.catalogue);
  return info == nullptr ? "" : unit_in(*info);
}

// Far from the requirement the exact share says nothing; "29 ×" and "< 1 %" are read at a glance.
std::string ratio_text(double ratio) {
  if (ratio >= 10) return fmt::format("{:.0f} ×", ratio);
  if (ratio > 0 && ratio < 0.01) return "< 1 %";
  return fmt::format("{:.0f} %", ratio * 100);
}

Row requirement_row(const CriterionVerdict& v, const ReportInput& in) {
  const Texts& t = in.t;
  return {.state = v.state,
          .cells = {state_cell(v.state, t), domain_name(v.criterion->domain, t), title_text(v, t),
                    value_text(v, t), required_text(v, in), v.ratio ? ratio_text(*v.ratio) : "–",
                    v.ceiling ? format_value(v.ceiling->value, v.unit) : "–", worst_text(v, t),
                    source_text(v, t)}};
}

// Shows each value as a share of its requirement, so that all fit one scale.
std::optional<Figure> margins_figure(const std::vector<const CriterionVerdict*>& verdicts,
                                     const Texts& t) {
  BarsChart chart{
      .unit = "share", .required_label = t("chart.required"), .ceiling_label = t("chart.ceiling")};
  size_t left_out = 0;
  for (const CriterionVerdict* v : verdicts) {
    if (!v->ratio || !v->value || !v->limit || *v->limit == 0) continue;
    if (chart.bars.size() == kMaxBars) {
      ++left_out;
      continue;
    }
    Bar bar{.label = criterion_title(*v->criterion, t),
            .value = std::min(*v->ratio, kMaxBar),
            .value_text = format_value(*v->value, v->unit),
            .required = 1.0,
            .state = v->state,
            .cut = *v->ratio > kMaxBar};
    if (v->ceiling) bar.ceiling = std::min(v->ceiling->value / *v->limit, kMaxBar);
    chart.bars.push_back(std::move(bar));
  }
  if (chart.bars.empty()) return std::nullopt;
  std::string caption = t("chart.margins.caption");
  if (left_out > 0) caption += t.gap() + t.count("chart.margins.left_out", left_out);
  return Figure{std::move(chart), t("chart.margins.title"), std::move(caption)};
}

// Says how each ceiling was obtained: one line per way.
Items ceiling_items(const Judgement& judgement, const Texts& t) {
  std::map<Said, std::vector<std::string>> titles_by_way;
  for (const CriterionVerdict& v : judgement.criteria) {
    if (v.ceiling) titles_by_way[v.ceiling->how].push_back(criterion_title(*v.criterion, t));
  }
  Items out;
  for (const auto& [how, titles] : titles_by_way)
    out.lines.push_back(t("criteria.ceiling_how", name_list(titles, 4, t), how.in(t.lang())));
  return out;
}

}  // namespace

std::string value_text(const CriterionVerdict& verdict, const Texts& t) {
  const bool measured = verdict.value.has_value();
  if (measured && std::holds_alternative<CheckRule>(verdict.criterion->rule))
    return t("criteria.failed", *verdict.value);
  if (measured && std::holds_alternative<UniformRule>(verdict.criterion->rule))
    return t(*verdict.value > 0 ? "criteria.unequal" : "criteria.no_difference");
  if (measured && std::holds_alternative<ExpectRule>(verdict.criterion->rule))
    return t(*verdict.value > 0 ? "criteria.not_ordered" : "criteria.ordered");
  if (measured && std::holds_alternative<DeliveryRule>(verdict.criterion->rule))
    return t("delivery.value", *verdict.value);
  if (verdict.value) return format_value(*verdict.value, verdict.unit);
  if (verdict.state == State::fail) return t("criteria.wrong_data");
  if (verdict.state == State::not_applicable) return t("state.not-applicable");
  return verdict.state == State::incomplete ? t("criteria.not_measured") : "–";
}

namespace {

// "≥ 120 TFLOP/s", even if nothing was measured to compare it with.
std::string required_limit(const CriterionVerdict& v, const MetricRule& rule,
                           const ReportInput& in) {
  const Texts& t = in.t;
  std::string out = limit_text(v);
  if (const std::string share = share_text(rule, t); !share.empty())
    return out.empty() ? share : out + " (" + share + ")";
  if (!out.empty()) return out;
  const std::string unit = unit_of(in, *v.criterion, rule.metric);
  const auto add = [&](const char* sign, const std::optional<double>& limit, const char* of) {
    if (limit) out += (out.empty() ? "" : ", ") + std::string(sign) + format_value(*limit, of);
  };
  add("≥ ", rule.min, unit.c_str());
  add("≤ ", rule.max, unit.c_str());
  add("≤ ", rule.max_spread_of_host, unit.c_str());
  add("≤ ", rule.max_ratio_of_host, "×");
  return out;
}

// Names the statistic of the samples that is compared.
std::string statistic_name(const MetricRule& rule, const Texts& t) {
  const std::string id = "statistic." + rule.statistic;  // percentiles have no translation
  return has_text(id) ? t(id) : rule.statistic;
}

}  // namespace

std::string required_text(const CriterionVerdict& v, const ReportInput& in) {
  const Texts& t = in.t;
  if (std::holds_alternative<CheckRule>(v.criterion->rule)) return t("criteria.no_limit");
  if (std::holds_alternative<StepRule>(v.criterion->rule)) return t("step.required");
  if (const auto* soak = std::get_if<SoakRule>(&v.criterion->rule))
    return soak_required_text(*soak, t);
  if (std::holds_alternative<DeliveryRule>(v.criterion->rule))
    return v.limit ? t("delivery.required_at_most", *v.limit) : t("delivery.required");
  if (std::holds_alternative<ExpectRule>(v.criterion->rule)) return t("criteria.as_ordered");
  const auto* rule = std::get_if<MetricRule>(&v.criterion->rule);
  if (rule == nullptr) return t("criteria.equal");
  const std::string limit = statistic_name(*rule, t) + " " + required_limit(v, *rule, in);
  return rule->compares_parts_of_host() ? t("criteria.spread", limit) : limit;
}

Section open_items_section(const ReportInput& in) {
  const Texts& t = in.t;
  Section out{t("open.heading"), {}};
  Table table{.caption = t("open.caption"),
              .columns = {{t("col.result")},
                          {t("col.test")},
                          {t("col.where")},
                          {t("col.finding")},
                          {t("col.why")}}};
  for (const CriterionVerdict* v : worst_first(in.judgement)) {
    if (v->state != State::fail && v->state != State::incomplete && v->state != State::warn)
      continue;
    table.rows.push_back(
        {v->state,
         {state_cell(v->state, t), title_text(*v, t), v->worst ? entity_name(*v->worst) : "–",
          finding(*v, t), local(v->criterion->why, t.lang())}});
  }
  if (table.rows.empty()) {
    out.blocks.emplace_back(Paragraph{t("open.none")});
  } else {
    add_suspects(out, in);
    out.blocks.emplace_back(std::move(table));
  }
  return out;
}

Section requirements_section(const ReportInput& in) {
  const Texts& t = in.t;
  Section out{t("criteria.heading"), {}};
  const auto verdicts = worst_first(in.judgement);
  Table table{.caption = t("criteria.caption"),
              .columns = {{t("col.result")},
                          {t("col.domain")},
                          {t("col.test")},
                          {t("col.measured"), true},
                          {t("col.required"), true},
                          {t("col.ratio"), true},
                          {t("col.ceiling"), true},
                          {t("col.worst")},
                          {t("col.source")}}};
  for (const CriterionVerdict* v : verdicts) table.rows.push_back(requirement_row(*v, in));
  if (table.rows.empty()) {
    out.blocks.emplace_back(Paragraph{t("criteria.none")});
    return out;
  }
  out.blocks.emplace_back(std::move(table));
  if (auto figure = margins_figure(verdicts, t))
    out.blocks.emplace_back(Figures{{std::move(*figure)}});
  Items ceilings = ceiling_items(in.judgement, t);
  if (!ceilings.lines.empty()) {
    out.blocks.emplace_back(Paragraph{t("criteria.ceilings")});
    out.blocks.emplace_back(std::move(ceilings));
  }
  Items not_applicable;
  for (const CriterionVerdict* v : verdicts) {
    if (v->state == State::not_applicable)
      not_applicable.lines.push_back(t("criteria.na", criterion_title(*v->criterion, t),
                                       v->why.empty() ? v->reason : say_all(t.lang(), v->why)));
  }
  if (!not_applicable.lines.empty()) {
    out.blocks.emplace_back(Paragraph{t("criteria.na_heading")});
    out.blocks.emplace_back(std::move(not_applicable));
  }
  return out;
}

namespace {

// A waiver beside the worst value that it lets pass, and the number of parts if there are several.
Row waiver_row(const CriterionVerdict& v, const Waiver& w, const Texts& t) {
  CriterionVerdict worst = v;
  std::optional<double> badness;
  size_t parts = 0;
  for (const Finding& f : v.failing) {
    if (f.waiver != w.id) continue;
    ++parts;
    if (badness && f.badness <= *badness) continue;
    badness = f.badness;
    worst.unit = f.unit;
    worst.value = f.value;
    worst.limit = f.limit;
    worst.limit_is_minimum = f.limit_is_minimum;
  }
  const std::string scope = parts < 2 ? w.scope : t("waivers.covers", w.scope, parts);
  return {State::waived,
          {w.id, criterion_title(*v.criterion, t), scope, value_text(worst, t), limit_text(worst),
           format_value(w.limit, worst.unit), w.reason, w.approver, w.ticket, w.expires}};
}

}  // namespace

Section waivers_section(const ReportInput& in) {
  const Texts& t = in.t;
  Section out{t("waivers.heading"), {}};
  Table table{.caption = t("waivers.caption"),
              .columns = {{t("col.waiver")},
                          {t("col.test")},
                          {t("col.scope")},
                          {t("col.measured"), true},
                          {t("col.required"), true},
                          {t("col.waiver_limit"), true},
                          {t("col.reason")},
                          {t("col.approver")},
                          {t("col.ticket")},
                          {t("col.expires")}}};
  for (const CriterionVerdict& v : in.judgement.criteria) {
    for (const Waiver* w : v.waivers) table.rows.push_back(waiver_row(v, *w, t));
  }
  if (!table.rows.empty()) out.blocks.emplace_back(std::move(table));
  return out;
}

}  // namespace cb
