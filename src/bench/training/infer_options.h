#pragma once

#include <string>
#include <vector>

#include "bench/training/options.h"
#include "model/training/inference_cost.h"

namespace cb::training {

// What `infer` was asked for, resolved for the job's ranks.
struct InferOptions {
  Shape shape;
  Layout layout;
  Generation generation;  // its sequences are those of the point
  uint64_t seed = 1;
  int64_t repetitions = 1;         // of a generation, timed
  std::vector<double> rates = {};  // requests per second of a replica; empty: no load
  int64_t requests = 0;            // of each rate and replica
  Fault fault;                     // bitflip or nan, in the cache
  bool bf16 = false;               // weights, cache and operands; else fp32

  int element_bytes() const { return bf16 ? 2 : 4; }

  Stage stage(int rank) const {
    return {.shape = shape,
            .layout = layout,
            .batch = {},
            .at = coordinates_of(rank, layout),
            .recompute = false,
            .forward_only = true};
  }
};

std::vector<ParamDef> infer_params(const std::vector<std::string>& dtypes);
// What is wrong whatever the number of ranks.
void check_infer(const Params& params, Problems& problems);
// Throws UsageError, on every rank alike, if the ranks cannot share the work in that way.
InferOptions infer_options(const Params& params, int ranks);

// Throws UsageError if the requests of all rates, for each of `batches`, take longer to come than
// the whole job may take.
void require_time_for_loads(const InferOptions& options, size_t batches, double deadline_seconds);

}  // namespace cb::training
