#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/params.h"

// What a training cluster demands of its storage, as settings of the parameters of `io`.
namespace cb::io {

// Bytes of a checkpoint that one rank writes for the model of that name ("8B", "70B", "405B",
// "1T"): MLPerf Storage 2.0, 14 bytes a parameter over the ranks of its submission. Nothing for an
// unknown name.
std::optional<double> checkpoint_bytes_per_rank(const std::string& model);

// The parameters with the workload's settings put in; unchanged without a workload.
Params with_workload(const Params& params);

// The queue depths that are measured one after the other: a single one, except for qd-sweep.
std::vector<unsigned> queue_depths(const Params& params);

}  // namespace cb::io
