// A figure against its limits.
#pragma once

#include <string>

#include "judge/finding.h"

namespace cb {

// Returns how far the value is beyond the limit, as a share of the limit; the plain difference if
// the limit is 0. Above 0 the value misses it.
double badness(double value, double limit, bool minimum);

// Judges the finding's value by one more limit. The limit that it misses most is the one that
// stays.
void bind_limit(Finding& finding, double limit, bool minimum);

// "≥ 390 GB/s"
std::string required_text(const Finding& finding);

}  // namespace cb
