#include "judge/optics_trend.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/clock.h"
#include "core/theil_sen.h"

namespace cb {
namespace {

constexpr double kSecondsOfDay = 86400, kConfidence = 0.95;
constexpr size_t kLeastPoints = 3;

// A figure, what its axis is, and where it must not get to.
struct TrendFigure {
  const char* name;
  bool logarithm;  // decades: errors grow by factors
  double limit;    // on that axis
  bool falls;      // it is bad if it falls
};
constexpr TrendFigure kTrendFigures[] = {{"receive_margin_decibels", false, 0, true},
                                         {"errors_per_bit", true, -5, false}};

struct TrendPoints {
  std::vector<double> days, values;
};
using TrendKey = std::pair<Entity, size_t>;  // module, index of the figure

void add_document(const Document& document, double day, std::map<TrendKey, TrendPoints>& out) {
  for (const Record& record : document.records) {
    for (const Metric& metric : record.metrics) {
      if (record.entities.at(metric.entity).kind != "module") continue;
      for (size_t i = 0; i < std::size(kTrendFigures); ++i) {
        if (metric.name != kTrendFigures[i].name || metric.samples.empty()) continue;
        double value = metric.samples.summary().median;
        if (kTrendFigures[i].logarithm && value <= 0) continue;  // no error seen: no decade
        if (kTrendFigures[i].logarithm) value = std::log10(value);
        TrendPoints& points = out[{record.entities.at(metric.entity), i}];
        // A document that was named twice, or copied, is no second reading.
        if (std::ranges::find(points.days, day) != points.days.end()) continue;
        points.days.push_back(day);
        points.values.push_back(value);
      }
    }
  }
}

// Days until the limit by that slope; nothing if it leads away from the limit.
std::optional<double> days_by(double slope, double left, bool falls) {
  const double towards = falls ? -slope : slope;
  if (towards <= 0) return std::nullopt;
  return std::max(0.0, left / towards);
}

std::optional<OpticsTrend> trend_of(const TrendKey& key, const TrendPoints& points) {
  if (points.days.size() < kLeastPoints) return std::nullopt;
  const auto line = theil_sen(points.days, points.values, kConfidence);
  if (!line) return std::nullopt;
  const TrendFigure& figure = kTrendFigures[key.second];
  OpticsTrend out{.module = key.first, .figure = figure.name, .points = points.days.size()};
  out.per_day = line->slope;
  out.interval = line->interval;
  const double last = *std::ranges::max_element(points.days);
  const double now = line->intercept + line->slope * last;
  const double left = figure.falls ? now - figure.limit : figure.limit - now;
  out.days = days_by(line->slope, left, figure.falls);
  if (line->interval) {
    const auto& [low, high] = *line->interval;
    out.days_at_least = days_by(figure.falls ? low : high, left, figure.falls);
    out.days_at_most = days_by(figure.falls ? high : low, left, figure.falls);
  }
  return out;
}

}  // namespace

std::vector<OpticsTrend> optics_trends(std::span<const Document> documents) {
  std::map<TrendKey, TrendPoints> points;
  std::map<std::string, double> newest;  // host → day of the last document with a module of it
  for (const Document& document : documents) {
    const auto seconds = seconds_since_epoch(document.run.started);
    if (!seconds) continue;
    const double day = static_cast<double>(*seconds) / kSecondsOfDay;
    add_document(document, day, points);
    for (const Record& record : document.records) {
      for (const Entity& entity : record.entities) {
        if (entity.kind != "module") continue;
        const auto [at, fresh] = newest.try_emplace(entity.host, day);
        if (!fresh) at->second = std::max(at->second, day);
      }
    }
  }
  std::vector<OpticsTrend> out;
  for (const auto& [key, of] : points) {
    auto trend = trend_of(key, of);
    if (!trend) continue;
    // Errors are absent where none was seen; light is absent where there is none, or no module.
    trend->outdated = !kTrendFigures[key.second].logarithm &&
                      *std::ranges::max_element(of.days) < newest[key.first.host];
    out.push_back(std::move(*trend));
  }
  std::stable_sort(out.begin(), out.end(), [](const OpticsTrend& a, const OpticsTrend& b) {
    if (a.fades() != b.fades()) return a.fades();
    return a.fades() && *a.days_at_least < *b.days_at_least;
  });
  return out;
}

}  // namespace cb
