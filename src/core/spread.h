#pragma once

#include <string>
#include <string_view>

#include "core/stats.h"

namespace cb {

// How exactly the median is known: "±3.1 %", with `sign` in front. Where the interval's half is
// more than the median itself, a share says nothing, and the interval is given: "12 ns … 4.3 µs".
// Empty without an interval.
std::string spread_text(const Summary& summary, std::string_view unit, std::string_view sign = "±");

}  // namespace cb
