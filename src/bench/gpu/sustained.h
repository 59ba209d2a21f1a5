#pragma once

#include <optional>
#include <span>

namespace cb {

// The rate of the last tenth of a run over that of its best tenth: what heat took from it. A tenth
// counts by its median. Nothing for fewer than 50 rates, which do not tell.
std::optional<double> sustained_share(std::span<const double> rates);

}  // namespace cb
