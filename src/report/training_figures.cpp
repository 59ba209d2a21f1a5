#include "report/training_figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>

#include <fmt/format.h>

#include "core/stats.h"
#include "core/units.h"
#include "judge/verdict_select.h"
#include "report/phase_figures.h"

namespace cb {
namespace {

constexpr size_t kMostSteps = 240;                 // points of a line; more would not be visible
constexpr int64_t kMostNumber = int64_t{1} << 40;  // of a step: no training has so many
constexpr double kMostNats = 20;  // a text whose entropy is more is none that `train` makes

// A part of a step: what it took, and what it was predicted to take (docs/methods/training.md).
struct StepPart {
  const char* text;
  const char* measured;
  const char* predicted;
};
constexpr std::array kStepParts{
    StepPart{"train_part.products", "matmul_seconds", "predicted_matmul_seconds"},
    StepPart{"train_part.attention", "attention_seconds", "predicted_attention_seconds"},
    StepPart{"train_part.rows", "elementwise_seconds", "predicted_elementwise_seconds"},
    StepPart{"train_part.optimizer", "optimizer_seconds", "predicted_optimizer_seconds"},
    StepPart{"train_part.exchanges", "exposed_communication_seconds",
             "predicted_communication_seconds"}};

const Metric* metric_of(const Record& record, size_t entity, std::string_view name) {
  const auto found = std::ranges::find_if(
      record.metrics, [&](const Metric& m) { return m.entity == entity && m.name == name; });
  return found == record.metrics.end() ? nullptr : &*found;
}

// Means: parts of a step add up to it, and medians do not where steps are of two kinds.
std::optional<double> figure_of(const Record& record, size_t entity, std::string_view name) {
  const Metric* metric = metric_of(record, entity, name);
  return metric == nullptr ? std::nullopt : std::optional(metric->samples.summary().mean);
}

// The metrics of the job as a whole.
std::optional<size_t> whole_of(const Record& record) {
  for (const Metric& m : record.metrics) {
    if (m.name == "predicted_step_seconds") return m.entity;
  }
  return std::nullopt;
}

// The rank whose parts take longest by the prediction: the predicted step is that rank's.
std::optional<size_t> slowest_rank(const Record& record) {
  std::map<size_t, double> sums;
  for (const Metric& m : record.metrics) {
    if (std::ranges::find(kStepParts, m.name, &StepPart::predicted) != kStepParts.end())
      sums[m.entity] += m.samples.summary().mean;
  }
  if (sums.empty()) return std::nullopt;
  return std::ranges::max_element(sums, {}, [](const auto& s) { return s.second; })->first;
}

// Adds one difference below the bars that are there.
void add_difference(WaterfallChart& chart, std::string label, double seconds) {
  const double from = chart.steps.back().to;
  chart.steps.push_back({std::move(label), from, from + seconds, false,
                         (seconds < 0 ? "−" : "+") + format_seconds(std::abs(seconds))});
}

bool has_pipeline(const Record& record) {
  return record.params.has("pp") && record.params.integer("pp") > 1;
}

std::optional<Figure> waterfall_figure(const Record& record, const Step& step, const Texts& t) {
  const auto whole = whole_of(record), rank = slowest_rank(record);
  if (!whole || !rank) return std::nullopt;
  const auto predicted = figure_of(record, *whole, "predicted_step_seconds");
  const auto measured = figure_of(record, *whole, "step_seconds");
  if (!predicted || !measured) return std::nullopt;
  WaterfallChart chart{.unit = "seconds"};
  chart.steps.push_back(
      {t("train_part.predicted"), 0, *predicted, true, format_seconds(*predicted)});
  double wait = *predicted;  // of a pipeline: what the parts leave of the prediction
  for (const StepPart& part : kStepParts) {
    const auto took = figure_of(record, *rank, part.measured);
    const auto should = figure_of(record, *rank, part.predicted);
    if (!took || !should) continue;
    wait -= *should;
    add_difference(chart, t(part.text), *took - *should);
  }
  const auto bubble = figure_of(record, *rank, "bubble_share");
  if (has_pipeline(record) && bubble)
    add_difference(chart, t("train_part.stages"), *bubble * *measured - wait);
  add_difference(chart, t("train_part.rest"), *measured - chart.steps.back().to);
  chart.steps.push_back({t("train_part.measured"), 0, *measured, true, format_seconds(*measured)});
  return Figure{
      std::move(chart), t("chart.waterfall.title", step.id),
      t("chart.waterfall.caption", entity_name(record.entities[*rank]), format_seconds(*predicted),
        format_seconds(*measured), fmt::format("{:.0f} %", *predicted / *measured * 100))};
}

// Runs of steps become their means, so that a long line keeps its shape.
TimeLine line_of(std::span<const double> values, size_t first) {
  TimeLine out{.emphasised = true};
  const size_t run = (values.size() + kMostSteps - 1) / kMostSteps;
  for (size_t i = 0; i < values.size(); i += run) {
    const size_t n = std::min(run, values.size() - i);
    out.points.push_back({static_cast<double>(first + i) + static_cast<double>(n - 1) / 2,
                          mean({values.data() + i, n})});
  }
  return out;
}

std::optional<double> floor_of(const Record& record) {
  const auto found = record.facts.find("loss_floor");
  const auto floor =
      found == record.facts.end() ? std::nullopt : parse_number(found->second.text());
  return floor && *floor > 0 && *floor <= kMostNats ? floor : std::nullopt;
}

// Steps before the first timed one warmed up, or ran before a checkpoint.
StepNumbers numbers_of(const Record& record) {
  StepNumbers out;
  const auto resumed = record.facts.find("resumed_at");
  const auto at =
      resumed == record.facts.end() ? std::nullopt : parse_integer(resumed->second.text());
  const auto counted = [](int64_t steps) {
    return static_cast<size_t>(steps > 0 && steps <= kMostNumber ? steps : 0);
  };
  if (at) out.resumed_at = counted(*at);
  out.first += out.resumed_at;
  if (record.params.has("warm-up-steps"))
    out.first += counted(record.params.integer("warm-up-steps"));
  return out;
}

std::optional<Figure> loss_figure(const Record& record, const Step& step, const Texts& t) {
  const auto whole = whole_of(record);
  if (!whole) return std::nullopt;
  const Metric* loss = metric_of(record, *whole, "loss_nats");
  const Metric* seconds = metric_of(record, *whole, "step_seconds");
  if (loss == nullptr || seconds == nullptr) return std::nullopt;
  const auto losses = loss->samples.list(), times = seconds->samples.list();
  if (losses.size() < 2 || times.size() != losses.size()) return std::nullopt;
  const size_t first = numbers_of(record).first;
  TimelineChart chart{.x_label = t("chart.loss.steps")};
  TimePanel curve{t("chart.loss.panel", fmt::format("{:.3f}", losses.front()),
                    fmt::format("{:.3f}", losses.back())),
                  "nats",
                  {line_of(losses, first)}};
  const auto floor = floor_of(record);
  if (floor)
    curve.lines.push_back({{{static_cast<double>(first), *floor},
                            {static_cast<double>(first + losses.size() - 1), *floor}},
                           false});
  const auto [least, most] = std::ranges::minmax(times);
  chart.panels.push_back(std::move(curve));
  chart.panels.push_back({t("chart.loss.times", format_seconds(least), format_seconds(most)),
                          "seconds",
                          {line_of(times, first)}});
  std::string caption = t("chart.loss.caption", losses.size());
  if (floor) caption += t.gap() + t("chart.loss.floor", fmt::format("{:.4f}", *floor));
  return Figure{std::move(chart), t("chart.loss.title", step.id), std::move(caption)};
}

// True if the record has each step: of a soak's cycles most keep only summaries.
bool has_curve(const Record& record) {
  const auto whole = whole_of(record);
  const auto has = [&](const char* name) {
    const Metric* metric = metric_of(record, *whole, name);
    return metric != nullptr && !metric->samples.has_only_summary();
  };
  return whole && has("loss_nats") && has("step_seconds");
}

bool is_any(const Record&) { return true; }

// The record of the step that took longest: of many hosts or cycles one is shown.
const Record* slowest_record(const Campaign& campaign, const Step& step,
                             bool (*fits)(const Record&)) {
  const Record* out = nullptr;
  double longest = 0;
  for (const Job& job : campaign.jobs) {
    if (job.step != step.id || !job.document) continue;
    for (const Record& record : job.document->records) {
      if (!may_match(record.params, {{"level", {"all"}}})) continue;  // a part of --scaling's ranks
      const auto whole = whole_of(record);
      const auto took = whole ? figure_of(record, *whole, "step_seconds") : std::nullopt;
      if (!took || *took <= longest || !fits(record)) continue;
      longest = *took;
      out = &record;
    }
  }
  return out;
}

}  // namespace

std::vector<Figure> training_figures(const ReportInput& in, const Step& step) {
  std::vector<Figure> out;
  const Record* slowest = slowest_record(in.campaign, step, is_any);
  if (slowest == nullptr) return out;
  if (auto figure = waterfall_figure(*slowest, step, in.t)) out.push_back(std::move(*figure));
  const Record* curved = slowest_record(in.campaign, step, has_curve);
  if (curved == nullptr) return out;
  if (auto figure = loss_figure(*curved, step, in.t)) out.push_back(std::move(*figure));
  std::ranges::move(phase_figures(*curved, *whole_of(*curved), numbers_of(*curved), step, in.t),
                    std::back_inserter(out));
  return out;
}

}  // namespace cb
