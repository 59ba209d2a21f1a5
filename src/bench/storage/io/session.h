#pragma once

#include <string>
#include <vector>

#include "bench/storage/io/measurement.h"
#include "core/result.h"

// A measurement of one target on all ranks, from looking at it to its removal.
namespace cb::io {

// Looks at the targets, checks that there is room for all ranks' files, and makes them; on
// --dry-run only looks. Collective; false if some rank could not (which threw).
struct Preparation {
  EngineChoice choice;
  std::vector<Record> dry_run = {};  // then nothing was made
};
bool prepare(Context& context, const std::vector<Params>& params,
             std::vector<std::unique_ptr<Target>>& targets, Preparation& out);

// One run of the job on a target that is made, and its records, one per direction; none if some
// rank could not (which threw). `failed`: a rank's request failed, and the records say so.
std::vector<Record> measure(Context& context, const Params& params, Target& target, Measurement& m);

// All of it: every queue depth of the workload, then removal (or what --keep leaves).
std::vector<Record> measure_target(Context& context, const Params& params);

}  // namespace cb::io
