#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/campaign_data.h"

namespace cb {

// One entity measured against the criterion's limit.
struct Finding {
  Entity entity;
  std::string unit;
  std::optional<double> value;  // nothing where the data was wrong
  std::optional<double> limit;
  bool limit_is_minimum = true;
  std::optional<Ceiling> ceiling = {};
  std::string at = {};      // the parameters of its record, "size 8G"
  std::string detail = {};  // what a check or a comparison says
  std::string file = {};    // of the record
  bool failing = false;
  double badness = 0;  // above 0 beyond the limit, as a share of it; the greatest is the worst
};

// All that the campaign says about one criterion.
struct Evidence {
  std::vector<Finding> findings;
  std::vector<std::string> gaps;  // what should have been measured and was not, with the next step
  size_t checks = 0;              // seen, for a check criterion
};

Evidence gather_evidence(const Campaign& campaign, const Criterion& criterion);

}  // namespace cb
