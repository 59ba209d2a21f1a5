#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "bench/training/scaling.h"

namespace cb::training {

// The ranks that train together, and what their record is of.
struct TrainingGroup {
  Context& context;          // of these ranks, which count from 0
  const Context& job;        // of all ranks
  const Params& params;      // of the record
  const Options& options;    // of these ranks
  std::optional<Entity> of;  // of figures of the group; nothing: the rank alone

  bool is_all() const { return context.comm.size() == job.comm.size(); }
};

// Collective over the group. This rank's share of its record.
using TrainTogether = std::function<Record(const TrainingGroup&)>;

// What all ranks were asked for.
struct TrainingJob {
  const Params& params;
  const Options& options;            // of all ranks together
  std::vector<ScalingPoint> points;  // of scaling_points()
  // Ranks share cores somewhere: one computes faster while another waits, so an efficiency would
  // say nothing, and none is given.
  bool crowded = false;
};

// Collective over all ranks. Trains once with all of them; with --scaling at each point, in a
// record of its own, which has the efficiency.
std::vector<Record> train_groups(Context& context, const TrainingJob& job,
                                 const TrainTogether& train);

}  // namespace cb::training
