#pragma once

#include "bench/harness/case.h"
#include "bench/training/trainer.h"

namespace cb::training {

// What `train` was asked for, resolved for the job's ranks.
struct Options {
  Shape shape;
  Layout layout;
  Batch batch;
  TextRule text;
  Recipe recipe;
  Fault fault;
  bool recompute = false;
  std::string dtype = "fp32";  // of the operands of products
  int64_t steps = 0;           // of training; twin steps are none
  int64_t warm_up = 0;         // of these, not timed
  int64_t twin_every = 0;      // steps; 0: never
  int64_t hash_every = 0;
  std::string checkpoint_dir = {};  // empty: no checkpoints
  int64_t checkpoint_every = 0;     // steps
  bool resume = false;
  // Text of all that must be the same to go on from a checkpoint.
  std::string identity() const;
  std::optional<double> reach;  // nats above the floor that the last losses may be

  Stage stage(int rank) const {
    return {shape, layout, batch, coordinates_of(rank, layout), recompute};
  }
};

// Of the decoder: --model and what replaces its numbers. `infer` has the same.
std::vector<ParamDef> shape_params();
Shape shape_of(const Params& params);
void check_shape(const Shape& shape, Problems& problems);
// What ranks that share matrices cannot divide.
void check_shared(const Shape& shape, int tensor, Problems& problems);

// `dtypes`: what the device multiplies.
std::vector<ParamDef> option_params(const std::vector<std::string>& dtypes = {"fp32"});
// What is wrong whatever the number of ranks.
void check_options(const Params& params, Problems& problems);
// Throws UsageError, on every rank alike, if the ranks cannot share the work in that way.
Options options_of(const Params& params, int ranks);

// Whether there is another rank that a rank with this fault is compared with, where it needs one.
bool has_witness(Fault::Kind kind, const Layout& layout);

// "KIND@RANK[:LAYER]", or "RANK" for a flipped bit. Nothing for other texts.
std::optional<Fault> parse_fault(std::string_view text);

}  // namespace cb::training
