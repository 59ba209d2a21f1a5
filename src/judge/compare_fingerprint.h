#pragma once

#include <string>
#include <vector>

#include "judge/campaign_data.h"

namespace cb {

// Something that differs between two campaigns and may explain a change of their figures.
struct FingerprintDifference {
  std::string what;  // "gpu.model", "tool.version", "hosts", …
  std::string before, after;
};

std::vector<FingerprintDifference> fingerprint_differences(const Campaign& a, const Campaign& b);

// A step's case, parameters and environment as text: steps with equal texts ask for the same.
std::string step_text(const Step& step);

}  // namespace cb
