#include "import/result_checks.h"

#include <algorithm>
#include <cmath>

namespace cb {
namespace {

Said wrong_residual(const PrintedResidual& residual) {
  if (residual.threshold && *residual.threshold <= 0)
    return said("import.threshold_off", *residual.threshold);
  if (residual.threshold && *residual.threshold != kHplResidualLimit)
    return said("import.threshold_other", *residual.threshold);
  if (!residual.value) return said("import.no_residual");
  if (!std::isfinite(residual.value->value)) return said("import.residual_not_finite");
  if (residual.value->value < 0) return said("import.residual_negative", residual.value->value);
  if (!(residual.value->value < kHplResidualLimit))
    return said("import.residual_large", residual.value->value);
  if (!residual.passed) return said("import.says_failed");
  return {};
}

}  // namespace

Check residual_check(const PrintedResidual& residual) {
  Check out{.name = "residual", .limit = kHplResidualLimit, .detail = wrong_residual(residual)};
  out.passed = out.detail.empty();
  if (residual.value && std::isfinite(residual.value->value)) out.value = residual.value->value;
  return out;
}

Check rate_check(double operations, const PrintedNumber& seconds, const PrintedNumber& rate) {
  Check out{.name = "rate"};
  const double shortest = seconds.value - seconds.half_step;
  const double longest = seconds.value + seconds.half_step;
  if (!std::isfinite(seconds.value) || !std::isfinite(rate.value) || !(rate.value > 0)) {
    out.detail = said("import.rate_not_finite");
  } else if (!(shortest > 0)) {
    out.detail = said("import.too_short", seconds.value);
  } else {
    out.value = rate.value / (operations / seconds.value);
    // A millionth for the program's own rounding in between.
    out.passed = rate.value + rate.half_step >= operations / longest * (1 - 1e-6) &&
                 rate.value - rate.half_step <= operations / shortest * (1 + 1e-6);
    if (!out.passed) out.detail = said("import.rate_differs", *out.value);
  }
  return out;
}

Check output_check(Said why) {
  const bool whole = why.empty();
  return {.name = "output", .passed = whole, .detail = std::move(why)};
}

bool ProgramResult::good() const {
  return !checks.empty() && std::all_of(checks.begin(), checks.end(),
                                        [](const Check& c) { return c.passed || c.finding; });
}

double hpl_operations(double n) { return n * n * (2.0 / 3.0 * n + 1.5); }

}  // namespace cb
