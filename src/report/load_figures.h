#pragma once

#include <vector>

#include "report/view_parts.h"

namespace cb {

// Of a step that serves requests which arrive over time: served requests per second and the time to
// the first token over the offered rate, of the slowest replica at each: by the median and by the
// p99. A figure for each number
// of sequences at once that was tried at two rates or more.
std::vector<Figure> load_figures(const ReportInput& in, const Step& step);

}  // namespace cb
