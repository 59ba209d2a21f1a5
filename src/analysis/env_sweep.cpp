#include "analysis/env_sweep.h"

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include "core/stats.h"

namespace cb {
namespace {

bool has_metric(const SweepRun& run, const std::string& name) {
  if (run.document == nullptr) return false;
  for (const Record& record : run.document->records) {
    for (const Metric& m : record.metrics) {
      if (m.name == name) return true;
    }
  }
  return false;
}

std::optional<SweepFigure> worst_entity(const Record& record, const MetricDef& metric, size_t run) {
  std::optional<SweepFigure> out;
  for (const Metric& m : record.metrics) {
    if (m.name != metric.name || m.samples.empty()) continue;
    const Summary s = m.samples.summary();
    const bool worse =
        !out || (metric.better == Better::higher ? s.median < out->median : s.median > out->median);
    if (worse) out = SweepFigure{run, s.median, relative_half_width(s)};
  }
  return out;
}

}  // namespace

std::optional<MetricDef> sweep_metric(const CaseInfo& info, const std::vector<SweepRun>& runs) {
  for (const MetricDef& def : info.metrics) {
    if (std::any_of(runs.begin(), runs.end(),
                    [&](const SweepRun& r) { return has_metric(r, def.name); }))
      return def;
  }
  return std::nullopt;
}

std::vector<SweepPoint> rank_sweep(const std::vector<SweepRun>& runs, const MetricDef& metric) {
  std::vector<SweepPoint> out;
  std::map<std::string, size_t> index;  // by the parameters' text
  for (size_t run = 0; run < runs.size(); ++run) {
    if (runs[run].document == nullptr) continue;
    for (const Record& record : runs[run].document->records) {
      const auto figure = worst_entity(record, metric, run);
      if (!figure) continue;
      const auto [found, fresh] =
          index.try_emplace(params_to_json(record.params).dump(), out.size());
      if (fresh) out.push_back({record.params});
      out[found->second].ranked.push_back(*figure);
    }
  }
  for (SweepPoint& point : out) {
    std::stable_sort(
        point.ranked.begin(), point.ranked.end(), [&](const SweepFigure& a, const SweepFigure& b) {
          return metric.better == Better::higher ? a.median > b.median : a.median < b.median;
        });
  }
  return out;
}

bool clearly_best(const SweepPoint& point) {
  if (point.ranked.size() < 2) return false;
  const SweepFigure &a = point.ranked[0], &b = point.ranked[1];
  if (!a.half_width || !b.half_width) return false;
  const double gap = a.median > b.median ? a.median - b.median : b.median - a.median;
  return gap > a.median * *a.half_width + b.median * *b.half_width;
}

}  // namespace cb
