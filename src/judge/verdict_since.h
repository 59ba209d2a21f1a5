#pragma once

#include <map>
#include <optional>

#include "core/profile.h"
#include "judge/campaign_data.h"

namespace cb {

// The values that a `since` criterion's metric had in that earlier step, by entity: a running total
// is judged by its growth.
class EarlierValues {
 public:
  EarlierValues(const Campaign& campaign, const MetricRule& rule);
  std::optional<double> of(const Entity& entity) const;

 private:
  std::map<Entity, double> values_;  // the first value if there are several
};

}  // namespace cb
