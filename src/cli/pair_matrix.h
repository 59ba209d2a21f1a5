#pragma once

#include <string>

#include "core/result.h"

namespace cb {

// Tables of the copies between the GPUs of one host, one table per metric of pairs: rows are the
// GPUs that start the copies, columns their peers, cells medians. Leaves out a metric with more
// than 32 GPUs; empty if no table is left. Safe for a terminal.
std::string pair_matrix(const Record& record);

}  // namespace cb
