#pragma once

#include <vector>

#include "report/view_parts.h"

namespace cb {

// Of a step that trains by groups of growing size (`train --scaling`): the scaling efficiency of
// the worst and of the median group over the ranks of a group, beside the ideal. A figure for each
// kind of which at least one efficiency was measured.
std::vector<Figure> scaling_figures(const ReportInput& in, const Step& step);

}  // namespace cb
