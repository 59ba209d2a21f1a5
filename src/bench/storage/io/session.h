#pragma once

#include <string>
#include <vector>

#include "bench/storage/io/measurement.h"
#include "core/result.h"

// A measurement of one target on all ranks, from the first look at it to its removal.
namespace cb::io {

// Checks the targets, checks that there is room for all ranks' files, and makes them; with
// --dry-run only checks. Collective. Returns false if another rank failed (that rank threw).
struct Preparation {
  EngineChoice choice;
  std::vector<Record> dry_run = {};  // not empty on --dry-run: nothing was made
};
bool prepare(Context& context, const std::vector<Params>& params,
             std::vector<std::unique_ptr<Target>>& targets, Preparation& out);

// Runs the job once on a target that is made. Returns one record per direction, or none if another
// rank failed (that rank threw). If a rank's request failed, m.run.failure is set there and the
// records say so.
std::vector<Record> measure(Context& context, const Params& params, Target& target, Measurement& m);

// The whole measurement: every queue depth of the workload, then removal (or what --keep leaves).
std::vector<Record> measure_target(Context& context, const Params& params);

}  // namespace cb::io
