#pragma once

#include <optional>

#include "report/view_parts.h"

namespace cb {

// What was recorded over time during a step: up to two panels with the worst entity's line among
// the others', and counters that grew as events. Nothing if no series was recorded.
std::optional<Figure> timeline_figure(const ReportInput& in, const Step& step);

}  // namespace cb
