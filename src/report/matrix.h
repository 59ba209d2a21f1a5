#pragma once

#include "report/view_parts.h"

namespace cb {

// The N×N picture of a group of pairs: rows are the senders, columns the receivers.
Figure matrix_figure(const ReportInput& in, const MetricGroup& group, const std::string& title);

}  // namespace cb
