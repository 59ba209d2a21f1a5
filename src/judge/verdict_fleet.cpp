#include "judge/verdict_fleet.h"

#include <algorithm>

#include "core/stats.h"
#include "judge/measured.h"
#include "judge/verdict_select.h"

namespace cb {
namespace {

// A directory names only a place: the drives of a host, each measured in its own directory, are one
// fleet.
std::string point_of(Params params) {
  params.erase("dir");
  return params_key(params);
}

}  // namespace

FleetMedians::FleetMedians(const Campaign& campaign, const Criterion& criterion) {
  const auto& rule = std::get<MetricRule>(criterion.rule);
  for (const Job& job : campaign.jobs) {
    if (job.step != criterion.step || !job.document) continue;
    for (const Record& record : job.document->records) {
      if (!record.measured() || !matches(record.params, rule.at)) continue;
      for (const Metric& metric : record.metrics) {
        if (metric.name != rule.metric) continue;
        values_[{point_of(record.params), record.entities.at(metric.entity).kind}].push_back(
            statistic_of(metric.samples.summary(), rule.statistic));
      }
    }
  }
  for (auto& [point, values] : values_) std::sort(values.begin(), values.end());
}

const std::vector<double>& FleetMedians::values(const Params& params,
                                                const std::string& kind) const {
  static const std::vector<double> none;
  const auto found = values_.find({point_of(params), kind});
  return found == values_.end() ? none : found->second;
}

std::optional<double> FleetMedians::median_of(const Params& params, const std::string& kind) const {
  const std::vector<double>& all = values(params, kind);
  if (all.size() < kMin) return std::nullopt;
  return quantile_of_sorted(all, 0.5);
}

}  // namespace cb
