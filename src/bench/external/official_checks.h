// Whether results of a program are those that were asked for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bench/external/official_run.h"

namespace cb {

// What the input asked for, as the program names it: N, NB, P, Q, or HPCG's processes and edges.
std::map<std::string, int64_t> asked_of(const Params& params, const ExternalPlan& plan);

// Completes the checks of every result: its "output" also says whether it is the one asked for.
void complete_checks(std::vector<ExternalRun>& runs, const std::map<std::string, int64_t>& asked);

}  // namespace cb
