#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "judge/campaign_data.h"

namespace cb {

// What all parts of a kind have at one point of parameters, for limits that are a share of it.
class FleetMedians {
 public:
  // Fewer than these have no middle that one of them could be behind.
  static constexpr size_t kMin = 3;

  // The metric and statistic of the criterion (a MetricRule) over all jobs of its step.
  FleetMedians(const Campaign& campaign, const Criterion& criterion);

  // The entities' values of that kind at these parameters, ascending; may be empty.
  const std::vector<double>& values(const Params& params, const std::string& kind) const;
  // Their median; nothing where there are fewer than kMin.
  std::optional<double> median_of(const Params& params, const std::string& kind) const;

 private:
  std::map<std::pair<std::string, std::string>, std::vector<double>> values_;
};

}  // namespace cb
