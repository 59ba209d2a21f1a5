#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "bench/training/trainer.h"

namespace cb::training {

// Each size differs from the others, so that a mixed-up one is seen; two heads share one of k, v.
inline Stage odd_stage(bool recompute = false) {
  Stage out;
  out.shape = {"odd", 2, 12, 4, 2, 6, 10, 14};
  out.batch = {.sequence = 5, .sequences = 2, .micro_batches = 1};
  out.recompute = recompute;
  return out;
}

// One rank that learns the text of `train`.
struct TrainingRun {
  TrainingRun(std::unique_ptr<Backend<float>> made, const Stage& stage, Fault fault = {})
      : backend(std::move(made)),
        comm(single_comm()),
        fabric(connect<float>(*comm, stage.layout)),
        text({stage.shape.vocabulary, 256, 0.15}, 1),
        trainer(*comm, fabric, *backend, stage, text, {.rate = 3e-3}, fault) {}

  std::vector<double> losses(int steps) {
    std::vector<double> out;
    for (int i = 0; i < steps; ++i) out.push_back(trainer.step().loss);
    return out;
  }

  std::unique_ptr<Backend<float>> backend;
  std::unique_ptr<Comm> comm;
  Fabric<float> fabric;
  Text text;
  Trainer<float> trainer;
};

}  // namespace cb::training
