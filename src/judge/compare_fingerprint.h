#pragma once

#include <string>
#include <vector>

#include "judge/campaign_data.h"

namespace cb {

// What is not the same of two campaigns, so that a change may come from there.
struct FingerprintDifference {
  std::string what;  // "gpu.model", "tool.version", "hosts", …
  std::string before, after;
};

std::vector<FingerprintDifference> fingerprint_differences(const Campaign& a, const Campaign& b);

// What a step asks for, its case, parameters and environment: equal texts ask for the same.
std::string step_text(const Step& step);

}  // namespace cb
