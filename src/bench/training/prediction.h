#pragma once

#include <functional>

#include "bench/harness/comm.h"
#include "bench/training/trainer.h"

namespace cb::training {

// What a step should take by its parts, each measured alone by the same process right after the
// steps: seconds of one step on this rank.
struct Prediction {
  double matmul = 0;  // every product of the step by its own shape
  double attention = 0;
  double elementwise = 0;  // every loop over rows by its own length
  double optimizer = 0;
  double exchange = 0;         // of the ranks that share matrices: nothing can hide it
  double gradients_alone = 0;  // of the replicas, with nothing beside them
  double gradients = 0;        // what they add to a backward
  double bubble = 0;           // waiting for other stages, by bubble_of_ideal()

  double computing() const { return matmul + attention + elementwise + optimizer; }
  double step() const { return computing() + exchange + gradients + bubble; }
};

// Collective. `ledger` is of one step. `moved` is called behind each probe.
Prediction predict(
    Comm& comm, Backend<float>& backend, Fabric<float>& fabric, const Stage& stage,
    const Ledger& ledger, Trainer<float>& trainer, const std::function<void()>& moved = [] {});

// Seconds that predict() and what is probed besides may take: a few calls of each part of a step,
// and a time of its own for each of the short ones. `step`: seconds of the longest step of any
// rank.
double probing_patience(double step);

// The most elements that its probes hold at a time.
int64_t probe_elements(const Stage& stage);
// Of all products of a step.
int64_t longest_operand(const Stage& stage);

// The fastest rate of the shapes of the ledger, operations per second, measured by the same probe.
double best_product_rate(
    Backend<float>& backend, const Ledger& ledger, const std::function<void()>& moved = [] {});

}  // namespace cb::training
