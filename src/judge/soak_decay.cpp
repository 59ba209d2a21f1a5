// What changed over a soak's cycles.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "core/clock.h"
#include "core/theil_sen.h"
#include "judge/measured.h"
#include "judge/soak.h"
#include "judge/verdict_select.h"
#include "model/disturbance.h"

namespace cb {
namespace {

constexpr size_t kTenth = 10;
constexpr double kSecondsPerDay = 86400;
constexpr size_t kMaxFitted = 500;  // more cycles are joined to runs: all pairs are compared

using SeriesKey = std::tuple<std::string, std::string, std::string, Entity>;

struct Points {
  std::vector<double> x, y;
};

// Replaces runs of neighbouring cycles by the mean of their times and the median of their values.
Points thinned_points(const SoakSeries& s) {
  const size_t run = (s.values.size() + kMaxFitted - 1) / kMaxFitted;
  Points out;
  for (size_t i = 0; i < s.values.size(); i += run) {
    const size_t n = std::min(run, s.values.size() - i);
    out.x.push_back(mean({s.seconds.data() + i, n}));
    out.y.push_back(median({s.values.data() + i, n}));
  }
  return out;
}

std::optional<double> ratio_of_tenths(const std::vector<double>& values) {
  if (values.size() < kTenth) return std::nullopt;
  const size_t n = values.size() / kTenth;
  const double first = mean({values.data(), n});
  if (first == 0) return std::nullopt;
  return mean({values.data() + values.size() - n, n}) / first;
}

bool selects(const SoakRule* rule, const std::string& step, const Job& job, const Record& record,
             const Metric& metric) {
  if (rule == nullptr) return can_suffer(metric.unit);  // counters grow by their nature
  return job.step == step && metric.name == rule->metric && matches(record.params, rule->at);
}

}  // namespace

std::vector<SoakSeries> soak_series(const Campaign& campaign, const SoakRule* rule,
                                    const std::string& step) {
  std::vector<SoakSeries> out;
  std::map<SeriesKey, size_t> places;
  std::optional<int64_t> origin;
  for (const Job& job : campaign.jobs) {
    if (job.cycle == 0 || job.made_up || job.state != JobState::done || !job.document) continue;
    for (const Record& record : job.document->records) {
      const auto at = seconds_since_epoch(record.started);
      if (!record.measured() || !at) continue;
      if (!origin) origin = at;
      for (const Metric& metric : record.metrics) {
        if (metric.samples.empty() || !selects(rule, step, job, record, metric)) continue;
        const Entity& entity = record.entities.at(metric.entity);
        const SeriesKey key{job.step, params_key(record.params), metric.name, entity};
        const auto [place, is_new] = places.try_emplace(key, out.size());
        if (is_new)
          out.push_back({.step = job.step,
                         .params = record.params,
                         .metric = metric.name,
                         .unit = metric.unit,
                         .better = metric.better,
                         .entity = entity});
        out[place->second].seconds.push_back(static_cast<double>(*at - *origin));
        out[place->second].values.push_back(metric.samples.summary().median);
      }
    }
  }
  std::erase_if(out, [](const SoakSeries& s) { return s.values.size() < 2; });
  return out;
}

std::optional<Decay> decay_of(const SoakSeries& series, double confidence) {
  const Points points = thinned_points(series);
  const auto fit = theil_sen(points.x, points.y, confidence);
  Decay out{.median = median(series.values)};
  if (!fit || out.median == 0) return std::nullopt;
  const double sign = series.better == Better::higher ? -1 : 1;
  const double length = std::ranges::max(series.seconds) - std::ranges::min(series.seconds);
  const auto loss = [&](double slope) { return sign * slope * length / std::abs(out.median); };
  out.loss = loss(fit->slope);
  out.loss_per_day = sign * fit->slope * kSecondsPerDay / std::abs(out.median);
  if (fit->interval) {
    const double a = loss((*fit->interval)[0]), b = loss((*fit->interval)[1]);
    out.interval = {std::min(a, b), std::max(a, b)};
  }
  const double middle = mean(series.values);
  if (const auto spread = standard_deviation(series.values); spread && middle != 0)
    out.variation = *spread / std::abs(middle);
  out.last_to_first = ratio_of_tenths(series.values);
  return out;
}

}  // namespace cb
