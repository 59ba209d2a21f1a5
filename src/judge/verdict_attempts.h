#pragma once

#include <string>

#include "core/profile.h"
#include "core/result.h"
#include "judge/campaign_data.h"
#include "judge/finding.h"

namespace cb {

// The first so many measurements of a figure decide. More of them are a person's doing, who must
// not get by patience what the machine did not give.
inline constexpr size_t kDecidingAttempts = 4;

// What later measurements may not take back.
struct HeldBack {
  bool fails = false;  // each of the first ones missed the limit
  bool open = false;   // half of the first ones or more missed it, and not all
  Message what = {};   // says how often the limit was missed; empty if it never was
};

// Looks at a figure that was measured more often than kDecidingAttempts. If it fails, the finding
// gets the limit that was missed and the median of the first measurements.
HeldBack hold_to_first(Finding& f, const Metric& metric, const MetricRule& rule);

// The record file in which a check was made: of a job that was measured again, that of its attempt.
std::string file_of_check(const Job& job, const Check& check);

}  // namespace cb
