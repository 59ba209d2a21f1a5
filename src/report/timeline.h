#pragma once

#include <optional>

#include "report/view_parts.h"

namespace cb {

// What was recorded over time beside a step's measurement: up to two scales, the worst entity's
// line among the others', counters that grew as events. Nothing where no series was recorded.
std::optional<Figure> timeline_figure(const ReportInput& in, const Step& step);

}  // namespace cb
