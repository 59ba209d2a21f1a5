#pragma once

#include <map>
#include <optional>

#include "core/profile.h"
#include "judge/campaign_data.h"

namespace cb {

// What the metric of a criterion with `since` was in that earlier step, entity by entity: a running
// total is judged by how much it has grown.
class EarlierValues {
 public:
  EarlierValues(const Campaign& campaign, const MetricRule& rule);
  std::optional<double> of(const Entity& entity) const;

 private:
  std::map<Entity, double> values_;  // the first of several
};

}  // namespace cb
