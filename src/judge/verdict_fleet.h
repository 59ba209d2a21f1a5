#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "judge/campaign_data.h"

namespace cb {

// The values of all parts of a kind at one point of parameters, for limits that are a share of
// their median.
class FleetMedians {
 public:
  // With fewer parts there is no median that one part could be behind.
  static constexpr size_t kMin = 3;

  // Collects the metric and statistic of the criterion (a MetricRule) over all jobs of its step.
  FleetMedians(const Campaign& campaign, const Criterion& criterion);

  // Returns the values of that kind at these parameters, ascending; may be empty.
  const std::vector<double>& values(const Params& params, const std::string& kind) const;
  // Returns their median; nothing if there are fewer than kMin.
  std::optional<double> median_of(const Params& params, const std::string& kind) const;

 private:
  std::map<std::pair<std::string, std::string>, std::vector<double>> values_;
};

}  // namespace cb
