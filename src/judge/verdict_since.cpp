#include "judge/verdict_since.h"

#include "judge/verdict_select.h"

namespace cb {

EarlierValues::EarlierValues(const Campaign& campaign, const MetricRule& rule) {
  for (const Job& job : campaign.jobs) {
    if (job.step != rule.since || !job.document) continue;
    for (const Record& record : job.document->records) {
      if (!record.measured()) continue;
      for (const Metric& metric : record.metrics) {
        if (metric.name == rule.metric)
          values_.try_emplace(record.entities.at(metric.entity),
                              statistic_of(metric.samples.summary(), rule.statistic));
      }
    }
  }
}

std::optional<double> EarlierValues::of(const Entity& entity) const {
  const auto found = values_.find(entity);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace cb
