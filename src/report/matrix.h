#pragma once

#include "report/view_parts.h"

namespace cb {

// The N×N figure of a group of pairs. Rows are senders, columns receivers.
Figure matrix_figure(const ReportInput& in, const MetricGroup& group, const std::string& title);

}  // namespace cb
