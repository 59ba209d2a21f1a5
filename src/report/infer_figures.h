#pragma once

#include <optional>

#include "report/view_parts.h"

namespace cb {

// Of a step that generates tokens: tokens per second, the time of a further token and the time to
// the first one over the number of sequences, of the slowest replica at each. Nothing where fewer
// than two numbers of sequences were measured.
std::optional<Figure> infer_figure(const ReportInput& in, const Step& step);

}  // namespace cb
