#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/training/options.h"

// The same training by groups of ranks of growing size: what `train --scaling` measures, in which
// order, and with which batches. docs/methods/training-scaling.md.
namespace cb::training {

// Which ranks train together. All groups of a level train at the same time, each by itself.
enum class Level {
  replica,  // the fewest that can: one rank, or those that --tp and --pp bring together
  host,     // the ranks of a host
  all
};

struct ScalingPoint {
  bool strong = false;  // the tokens of a step are those of all ranks at each level; else of a rank
  Level level = Level::all;

  auto operator<=>(const ScalingPoint&) const = default;
};

std::string kind_name(const ScalingPoint& point);   // "weak", "strong"
std::string level_name(const ScalingPoint& point);  // "replica", "host", "all"

// --scaling and --level.
std::vector<ParamDef> scaling_params();
// check_options(), and what is wrong with these.
void check_training(const Params& params, Problems& problems);

// By rank, the first rank of its group. `replica`: ranks of one replica.
std::vector<int> groups_of(Level level, const RankMap& place, int replica);

// Micro-batches of a replica's step with as many tokens as `whole` replicas have with `each`, if
// `replicas` make it. Nothing if they cannot share them evenly.
std::optional<int64_t> strong_micro_batches(int64_t each, int whole, int replicas);

// What is measured, in this order: the levels of each kind from the smallest. Of two levels with
// the same groups the larger one stays. Empty without --scaling. Throws UsageError, on every rank
// alike, if a group cannot share the work, or if no two levels are left to be compared.
std::vector<ScalingPoint> scaling_points(const Params& params, const Options& all,
                                         const RankMap& place);

// The options of the group that `rank` trains in, whose ranks count from 0. `groups` is that of
// groups_of(). A planted fault stays where its rank computes that layer.
Options options_at(const ScalingPoint& point, const Options& all, const std::vector<int>& groups,
                   int rank);

}  // namespace cb::training
