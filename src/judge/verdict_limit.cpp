#include "judge/verdict_limit.h"

#include <cmath>

#include "core/units.h"

namespace cb {

double badness(double value, double limit, bool minimum) {
  const double beyond = minimum ? limit - value : value - limit;
  return limit == 0 ? beyond : beyond / std::abs(limit);
}

void bind_limit(Finding& finding, double limit, bool minimum) {
  const double b = badness(*finding.value, limit, minimum);
  if (finding.limit && b <= finding.badness) return;
  finding.limit = limit;
  finding.limit_is_minimum = minimum;
  finding.badness = b;
  finding.failing = minimum ? *finding.value < limit : *finding.value > limit;
}

std::string required_text(const Finding& finding) {
  return (finding.limit_is_minimum ? "≥ " : "≤ ") + format_value(*finding.limit, finding.unit);
}

}  // namespace cb
