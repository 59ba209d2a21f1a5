#pragma once

#include <optional>
#include <span>

namespace cb {

// The rate of the last tenth of a run over that of its best tenth: below 1 if heat slowed the GPU.
// The rate of a tenth is its median. Nothing for fewer than 50 rates: too few to tell.
std::optional<double> sustained_share(std::span<const double> rates);

}  // namespace cb
