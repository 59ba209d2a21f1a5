#include "report/infer_figures.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "core/units.h"

namespace cb {
namespace {

// One replica with its number of sequences at once.
struct Served {
  std::string entity;
  double tokens_per_second = 0;
  std::optional<double> ceiling = {};
  double token_seconds = 0;
  double first_token_seconds = 0;
};

const Metric* infer_metric(const Record& record, size_t entity, std::string_view name) {
  const auto found = std::ranges::find_if(
      record.metrics, [&](const Metric& m) { return m.entity == entity && m.name == name; });
  return found == record.metrics.end() ? nullptr : &*found;
}

std::optional<Served> served_by(const Record& record, size_t entity) {
  const Metric* rate = infer_metric(record, entity, "decode_tokens_per_second");
  const Metric* token = infer_metric(record, entity, "time_per_output_token_seconds");
  const Metric* first = infer_metric(record, entity, "time_to_first_token_seconds");
  if (rate == nullptr || token == nullptr || first == nullptr) return std::nullopt;
  Served out{entity_name(record.entities[entity]), rate->samples.summary().median};
  if (rate->ceiling) out.ceiling = rate->ceiling->value;
  out.token_seconds = token->samples.summary().median;
  out.first_token_seconds = first->samples.summary().median;
  return out;
}

// The slowest replica for each number of sequences: of many hosts and attempts one is shown.
std::map<int64_t, Served> slowest_served(const Campaign& campaign, const Step& step) {
  std::map<int64_t, Served> out;
  for (const Job& job : campaign.jobs) {
    if (job.step != step.id || !job.document) continue;
    for (const Record& record : job.document->records) {
      if (!record.params.has("batch")) continue;
      const int64_t batch = record.params.integer("batch");
      for (size_t entity = 0; entity < record.entities.size(); ++entity) {
        const auto one = served_by(record, entity);
        if (!one) continue;
        const auto [known, is_new] = out.try_emplace(batch, *one);
        if (!is_new && one->token_seconds > known->second.token_seconds) known->second = *one;
      }
    }
  }
  return out;
}

template <typename F>
TimeLine line_over(const std::map<int64_t, Served>& all, F value_of) {
  TimeLine out{.emphasised = true};
  for (const auto& [batch, one] : all)
    out.points.push_back({static_cast<double>(batch), value_of(one)});
  return out;
}

}  // namespace

std::optional<Figure> infer_figure(const ReportInput& in, const Step& step) {
  const std::map<int64_t, Served> all = slowest_served(in.campaign, step);
  if (all.size() < 2) return std::nullopt;
  const Texts& t = in.t;
  const auto rate = [](const Served& s) { return s.tokens_per_second; };
  const auto token = [](const Served& s) { return s.token_seconds; };
  const auto first = [](const Served& s) { return s.first_token_seconds; };
  TimePanel rates{t("chart.infer.rate"), "count per second", {line_over(all, rate)}};
  const auto bounded = [](const auto& one) { return one.second.ceiling.has_value(); };
  const bool has_ceiling = std::ranges::all_of(all, bounded);
  if (has_ceiling) {
    rates.lines.push_back(line_over(all, [](const Served& s) { return *s.ceiling; }));
    rates.lines.back().emphasised = false;
  }
  TimelineChart chart{.x_label = t("chart.infer.sequences")};
  chart.panels.push_back(std::move(rates));
  chart.panels.push_back({t("chart.infer.token"), "seconds", {line_over(all, token)}});
  chart.panels.push_back({t("chart.infer.first"), "seconds", {line_over(all, first)}});
  const auto& [least, few] = *all.begin();
  const auto& [most, many] = *all.rbegin();
  const auto at = [&](int64_t batch, const Served& s) {
    return t("chart.infer.at", batch, format_value(s.tokens_per_second, "count per second"),
             format_seconds(s.token_seconds), format_seconds(s.first_token_seconds), s.entity);
  };
  std::string caption = at(least, few) + t.gap() + at(most, many);
  if (has_ceiling) caption += t.gap() + t("chart.infer.ceiling");
  return Figure{std::move(chart), t("chart.infer.title", step.id), std::move(caption)};
}

}  // namespace cb
