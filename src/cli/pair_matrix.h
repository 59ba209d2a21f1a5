#pragma once

#include <string>

#include "core/result.h"

namespace cb {

// What GPUs of one host reach from each to each, as a table: rows are those that start the copies,
// columns their peers, cells medians. A table for every metric of pairs; empty where the record has
// none, or pairs of more than 32 GPUs. Safe for a terminal.
std::string pair_matrix(const Record& record);

}  // namespace cb
