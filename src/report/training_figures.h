#pragma once

#include <vector>

#include "report/view_parts.h"

namespace cb {

// Of the slowest record of training steps: how the predicted step becomes the measured one, part by
// part, the loss and the seconds of each step, and phase_figures(). Nothing where a step of a
// campaign trains nothing.
std::vector<Figure> training_figures(const ReportInput& in, const Step& step);

}  // namespace cb
