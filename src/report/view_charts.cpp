// Chooses the charts of a step: a curve for a sweep, a strip or bars over several entities, a
// distribution where the tail matters, a time line if something was recorded over time.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/units.h"
#include "judge/verdict_select.h"
#include "report/histogram_bins.h"
#include "report/infer_figures.h"
#include "report/load_figures.h"
#include "report/matrix.h"
#include "report/scaling_figures.h"
#include "report/timeline.h"
#include "report/training_figures.h"
#include "report/view_parts.h"

namespace cb {
namespace {

constexpr size_t kStripFrom = 8;            // entities; fewer become bars with names
constexpr size_t kMatrixFrom = 6;           // pairs: three hosts in both directions
constexpr uint64_t kDistributionFrom = 30;  // samples

const MetricRule* rule_of(const CriterionVerdict& verdict) {
  return std::get_if<MetricRule>(&verdict.criterion->rule);
}

// The verdicts that judge this metric of this step.
std::vector<const CriterionVerdict*> verdicts_on(const ReportInput& in, const MetricGroup& group) {
  std::vector<const CriterionVerdict*> out;
  for (const CriterionVerdict& v : in.judgement.criteria) {
    const MetricRule* rule = rule_of(v);
    if (rule != nullptr && v.criterion->step == group.step->id && rule->metric == group.metric)
      out.push_back(&v);
  }
  return out;
}

// The verdict that judges exactly this group; null if there is none.
const CriterionVerdict* verdict_on_point(const ReportInput& in, const MetricGroup& group) {
  for (const CriterionVerdict* v : verdicts_on(in, group)) {
    if (matches(group.params, rule_of(*v)->at)) return v;
  }
  return nullptr;
}

// Names what a figure shows: "mpi all_reduce · dtype float".
std::string figure_title(const MetricGroup& group, const std::string& without, const Texts& t) {
  std::string out = group.step->id;
  for (const auto& [name, values] : group.params.all()) {
    if (name == without || !group.step->params.contains(name)) continue;
    const auto& given = group.step->params.at(name);
    // A list in the profile makes several records; a single value is the same for all of them.
    if (given.size() > 1) out += " · " + param_text(group.info, name, values);
  }
  return out + " · " + metric_name(group.metric, t);
}

void add_limits(CurveChart& chart, const ReportInput& in, const Sweep& sweep) {
  for (const CriterionVerdict* v : verdicts_on(in, *sweep.points.front())) {
    if (!v->limit) continue;
    std::vector<double> at;
    for (const MetricGroup* g : sweep.points) {
      if (matches(g->params, rule_of(*v)->at))
        at.push_back(static_cast<double>(g->params.integer(sweep.key)));
    }
    if (at.empty()) continue;
    chart.limits.push_back({at.front(), at.back(), *v->limit, in.t("chart.limit", limit_text(*v))});
  }
}

// The entity that is the worst at most points of the sweep: a line must stay with one entity.
Entity worst_of(const Sweep& sweep) {
  std::map<Entity, size_t> votes;
  for (const MetricGroup* g : sweep.points) ++votes[*g->values[g->worst].entity];
  return std::ranges::max_element(votes, {}, [](const auto& v) { return v.second; })->first;
}

Figure curve_figure(const ReportInput& in, const Sweep& sweep) {
  const Texts& t = in.t;
  const MetricGroup& first = *sweep.points.front();
  const Entity worst = worst_of(sweep);
  CurveChart chart{.unit = first.unit, .x_is_bytes = sweep.is_bytes};
  bool several = false;
  for (const MetricGroup* g : sweep.points) {
    const auto x = static_cast<double>(g->params.integer(sweep.key));
    const auto found =
        std::ranges::find_if(g->values, [&](const MeasuredValue& v) { return *v.entity == worst; });
    if (found == g->values.end()) continue;
    chart.worst.push_back({x, found->summary.median});
    if (found->summary.ci95)
      chart.interval.push_back({x, (*found->summary.ci95)[0], (*found->summary.ci95)[1]});
    if (found->metric->ceiling) chart.ceiling.push_back({x, found->metric->ceiling->value});
    chart.typical.push_back({x, g->typical});
    several = several || g->values.size() > 1;
  }
  if (!several) chart.typical.clear();
  chart.worst_label = entity_name(worst);
  if (several) chart.typical_label = t("chart.typical");
  if (chart.ceiling.size() > 1) chart.ceiling_label = t("chart.ceiling");
  add_limits(chart, in, sweep);

  const MetricGroup& last = *sweep.points.back();
  std::string caption = t("chart.curve.caption", metric_name(first.metric, t), sweep.key,
                          entity_name(worst), format_value(chart.worst.back()[1], first.unit),
                          sweep.is_bytes ? format_size(last.params.integer(sweep.key))
                                         : std::to_string(last.params.integer(sweep.key)));
  if (several) caption += t.gap() + t.count("chart.curve.several", last.values.size());
  if (!chart.limits.empty()) caption += t.gap() + t("chart.curve.limits");
  return {std::move(chart), figure_title(first, sweep.key, t), std::move(caption)};
}

// A group as its criterion sees it: by the statistic that the criterion judges, or by the median if
// there is no criterion.
struct Judged {
  const CriterionVerdict* verdict = nullptr;
  std::string statistic = "median";
  std::vector<double> values;  // one value per entity
  size_t worst = 0;
  size_t best = 0;
  double typical = 0;
};

Judged judged(const ReportInput& in, const MetricGroup& group) {
  Judged out{.verdict = verdict_on_point(in, group)};
  if (out.verdict != nullptr) out.statistic = rule_of(*out.verdict)->statistic;
  for (const MeasuredValue& v : group.values)
    out.values.push_back(statistic_of(v.summary, out.statistic));
  const auto low = static_cast<size_t>(std::ranges::min_element(out.values) - out.values.begin());
  const auto high = static_cast<size_t>(std::ranges::max_element(out.values) - out.values.begin());
  out.worst = group.better == Better::higher ? low : high;
  out.best = group.better == Better::higher ? high : low;
  out.typical = median(out.values);
  return out;
}

std::string point_title(const MetricGroup& group, const Judged& by, const Texts& t) {
  return figure_title(group, "", t) + (by.statistic == "median" ? "" : " · " + by.statistic);
}

// The state of one value by the point's limit.
State state_of(const CriterionVerdict* verdict, double value) {
  if (verdict == nullptr) return State::pass;
  // If the worst entity has wrong data, the verdict has no limit, but the rule still has one.
  const MetricRule& rule = *rule_of(*verdict);
  const std::optional<double> least =
      verdict->limit && verdict->limit_is_minimum ? verdict->limit : rule.min;
  const std::optional<double> most =
      verdict->limit && !verdict->limit_is_minimum ? verdict->limit : rule.max;
  const bool met = (!least || value >= *least) && (!most || value <= *most);
  if (met) return State::pass;
  if (verdict->state == State::waived) return State::warn;
  return verdict->criterion->severity == Severity::fail ? State::fail : State::warn;
}

std::string spread_caption(const MetricGroup& group, const Judged& by, const Texts& t,
                           std::string_view id) {
  std::string name = metric_name(group.metric, t);
  if (by.statistic != "median") name += " " + by.statistic;
  return t(id, group.values.size(), name, format_value(by.typical, group.unit),
           entity_name(*group.values[by.worst].entity),
           format_value(by.values[by.worst], group.unit));
}

Figure strip_figure(const ReportInput& in, const MetricGroup& group) {
  const Judged by = judged(in, group);
  StripChart chart{.unit = group.unit, .higher_is_better = group.better == Better::higher};
  for (size_t i = 0; i < group.values.size(); ++i)
    chart.cells.push_back({entity_name(*group.values[i].entity), by.values[i],
                           state_of(by.verdict, by.values[i]), i == by.worst});
  chart.low_label = in.t("chart.worst_is", format_value(by.values[by.worst], group.unit));
  chart.high_label = in.t("chart.best_is", format_value(by.values[by.best], group.unit));
  return {std::move(chart), point_title(group, by, in.t),
          spread_caption(group, by, in.t, "chart.strip.caption")};
}

Figure bars_figure(const ReportInput& in, const MetricGroup& group) {
  const Judged by = judged(in, group);
  BarsChart chart{.unit = group.unit};
  for (size_t i = 0; i < group.values.size(); ++i) {
    const MeasuredValue& v = group.values[i];
    Bar bar{.label = entity_name(*v.entity),
            .value = by.values[i],
            .value_text = format_value(by.values[i], group.unit),
            .state = state_of(by.verdict, by.values[i])};
    if (by.verdict != nullptr) bar.required = by.verdict->limit;
    if (v.metric->ceiling) bar.ceiling = v.metric->ceiling->value;
    if (bar.required) chart.required_label = in.t("chart.required");
    if (bar.ceiling) chart.ceiling_label = in.t("chart.ceiling");
    chart.bars.push_back(std::move(bar));
  }
  return {std::move(chart), point_title(group, by, in.t),
          spread_caption(group, by, in.t, "chart.bars.caption")};
}

// The tail matters if a criterion judges a percentile, and for latencies.
bool wants_distribution(const ReportInput& in, const MetricGroup& group) {
  const MeasuredValue& worst = group.values[judged(in, group).worst];
  if (worst.summary.n < kDistributionFrom || worst.metric->samples.has_only_summary()) return false;
  if (group.unit == "seconds") return true;
  const CriterionVerdict* verdict = verdict_on_point(in, group);
  return verdict != nullptr && rule_of(*verdict)->statistic != "median" &&
         rule_of(*verdict)->statistic != "mean";
}

Figure distribution_figure(const ReportInput& in, const MetricGroup& group) {
  const Texts& t = in.t;
  const Judged by = judged(in, group);
  const MeasuredValue& worst = group.values[by.worst];
  const Summary& s = worst.summary;
  DistributionChart chart = bins_of(worst.metric->samples);
  chart.unit = group.unit;
  chart.count_label = t("chart.samples");
  const auto mark = [&](const char* name, double value) {
    chart.marks.push_back({value, fmt::format("{} {}", name, format_value(value, group.unit))});
  };
  mark("p50", s.median);
  if (group.better == Better::lower) {
    mark("p99", s.p99);
    mark("max", s.max);
  } else {
    mark("p05", s.p05);
    mark("min", s.min);
  }
  if (by.verdict != nullptr && by.verdict->limit)
    chart.marks.push_back(
        {*by.verdict->limit, t("chart.limit", by.statistic + " " + limit_text(*by.verdict)), true});
  return {std::move(chart), figure_title(group, "", t) + " · " + entity_name(*worst.entity),
          t("chart.distribution.caption", metric_name(group.metric, t), s.n,
            entity_name(*worst.entity), format_value(s.median, group.unit),
            format_value(group.better == Better::lower ? s.max : s.min, group.unit))};
}

// The metrics worth a chart: those that are judged; if none is, the first of the step.
std::vector<std::vector<const MetricGroup*>> charted_groups(const ReportInput& in,
                                                            const Step& step) {
  std::vector<std::pair<std::string, std::string>> order;
  std::map<std::pair<std::string, std::string>, std::vector<const MetricGroup*>> by_metric;
  std::set<std::string> judged;
  for (const MetricGroup& group : in.groups) {
    if (group.step != &step) continue;
    const std::pair key{group.metric, group.entity_kind};
    if (!by_metric.contains(key)) order.push_back(key);
    by_metric[key].push_back(&group);
    if (!verdicts_on(in, group).empty()) judged.insert(group.metric);
  }
  std::vector<std::vector<const MetricGroup*>> out;
  for (const auto& key : order) {
    if (judged.empty() ? out.empty() : judged.contains(key.first)) out.push_back(by_metric.at(key));
  }
  return out;
}

void add_point_figures(std::vector<Figure>& out, const ReportInput& in, const MetricGroup& group) {
  if (group.entity_kind == "pair" && group.values.size() >= kMatrixFrom) {
    out.push_back(matrix_figure(in, group, figure_title(group, "", in.t)));
    return;
  }
  if (group.values.size() >= kStripFrom) {
    out.push_back(strip_figure(in, group));
  } else if (group.values.size() > 1) {
    out.push_back(bars_figure(in, group));
  }
  if (wants_distribution(in, group)) out.push_back(distribution_figure(in, group));
}

}  // namespace

std::vector<Figure> step_figures(const ReportInput& in, const Step& step) {
  std::vector<Figure> out;
  for (const auto& groups : charted_groups(in, step)) {
    const SweepsAndPoints found = find_sweeps(groups);
    for (const Sweep& sweep : found.sweeps) out.push_back(curve_figure(in, sweep));
    // For a sweep over several entities, the judged point (or else the last) shows which entities
    // are behind.
    for (const Sweep& sweep : found.sweeps) {
      const MetricGroup* shown = sweep.points.back();
      for (const MetricGroup* g : sweep.points) {
        const CriterionVerdict* v = verdict_on_point(in, *g);
        if (v != nullptr && !rule_of(*v)->at.empty()) shown = g;
      }
      if (shown->values.size() > 1) add_point_figures(out, in, *shown);
    }
    for (const MetricGroup* group : found.points) add_point_figures(out, in, *group);
  }
  std::ranges::move(training_figures(in, step), std::back_inserter(out));
  std::ranges::move(scaling_figures(in, step), std::back_inserter(out));
  if (auto figure = infer_figure(in, step)) out.push_back(std::move(*figure));
  std::ranges::move(load_figures(in, step), std::back_inserter(out));
  if (auto figure = timeline_figure(in, step)) out.push_back(std::move(*figure));
  return out;
}

}  // namespace cb
