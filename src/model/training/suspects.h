#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/messages/said.h"
#include "model/training/cost.h"

// Who computed something else than the others, and who took longer: pure.
namespace cb::training {

// A place of the step, in the order in which its results depend on one another.
struct PlaceInStep {
  enum class Part {
    forward_attention,
    forward_feed_forward,
    head,
    backward_feed_forward,
    backward_attention,
    gradient,
    weights,
  };
  Part part = Part::forward_attention;
  int64_t layer = 0;  // of the whole decoder; −1: embedding
  int64_t micro_batch = 0;

  // Smaller is earlier within one micro-batch, and micro-batches follow one another.
  uint64_t order(int64_t layers) const;
  static PlaceInStep of_order(uint64_t order, int64_t layers);
  Said name() const;
};

struct TracePoint {
  uint64_t order = 0;
  uint64_t hash = 0;
  auto operator<=>(const TracePoint&) const = default;
};

struct Suspect {
  int rank = 0;
  uint64_t order = 0;   // the first place where it differs
  bool certain = true;  // false: one of two that contradict each other
  auto operator<=>(const Suspect&) const = default;
};

// traces[rank] of a step that all replicas computed of the same tokens. Of the ranks with the same
// tensor and stage coordinates, those that differ from most of the others; where no value has a
// majority, all that differ. Within one replica only the rank that differs first, because its
// neighbours and later stages got wrong data from it. Traces of unequal length differ where the
// shorter one ends.
std::vector<Suspect> find_different(const std::vector<std::vector<TracePoint>>& traces,
                                    const Layout& layout);

// The same for one rank that computed a step twice: where its traces part.
std::optional<uint64_t> first_difference(const std::vector<TracePoint>& a,
                                         const std::vector<TracePoint>& b);

// Ranks whose own computing time exceeds `limit` × that of the median rank of the same stage (of
// two middle ones the faster), as pairs of rank and ratio. Steps take equally long on all ranks
// by construction; this time does not contain waiting.
struct Straggler {
  int rank = 0;
  double ratio = 0;
};
std::vector<Straggler> find_stragglers(const std::vector<double>& computing_seconds,
                                       const Layout& layout, double limit);

}  // namespace cb::training
