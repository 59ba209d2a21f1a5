#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bench/harness/comm.h"
#include "bench/training/decoder.h"
#include "model/training/synthetic_text.h"

namespace cb::training {

struct Recipe {
  uint64_t seed = 1;
  double rate = 3e-4;       // learning rate after the warm-up
  int64_t warm_steps = 20;  // in which the rate rises linearly
  double decay = 0.1;       // of matrices, not of gains
  double clip = 1;          // largest norm of all gradients together
};

// Times of one step on this rank, in seconds. Forward, backward and optimizer are without waiting
// for other ranks.
struct StepTimes {
  double forward = 0;
  double backward = 0;
  double optimizer = 0;
  double clearing = 0;               // of the optimizer's: zeroing the gradients
  double exposed_communication = 0;  // exchanges that no computing hid, of tensor and data groups
  double pipeline = 0;               // waiting for other stages
  double total = 0;
  double computing() const { return forward + backward + optimizer; }
};

struct StepResult {
  double loss = 0;           // mean over all tokens of the step, nats; the same on all ranks
  double gradient_norm = 0;  // before clipping; the same on all ranks
  StepTimes times;
  bool updated = false;  // false: loss or norm were not finite, and the weights stay
};

// Trains: one step after the other on the text. All calls are collective over the job's ranks.
template <typename Real>
class Trainer {
 public:
  // `fault` is this rank's own.
  Trainer(Comm& comm, Fabric<Real>& fabric, Backend<Real>& backend, const Stage& stage,
          const Text& text, const Recipe& recipe, const Fault& fault);

  StepResult step();
  // All replicas compute the same micro-batch without exchanging gradients; the weights stay.
  // Returns what this rank computed, place by place. `faults`: whether planted faults act.
  std::vector<TracePoint> twin_step(bool faults);

  // Called behind each micro-batch of a step.
  void tell_of_micro_batches(std::function<void()> call) { moved_ = std::move(call); }

  int64_t steps() const { return steps_; }
  // After parameters() were filled as they were behind that step: goes on there.
  void resume_at(int64_t steps) { steps_ = steps; }
  uint64_t weights_hash();
  // Of all that replicas have alike. A gradient that keeps coming wrong in its last bit is
  // rounded away in the weights, and shows in the moments, which with --shard zero1 are each rank's
  // own.
  uint64_t replicated_hash();
  const std::optional<PlaceInStep>& not_finite() const { return watch_.not_finite(); }
  Parameters<Real>& parameters() { return parameters_; }
  // Collective over the replicas: the exchanges of a step's gradients in a backward's order, with
  // `between` before each but the first, in seconds of all. It spoils the gradients.
  double rehearse_exchanges(const std::function<void()>& between);
  // Moves on what is being exchanged; never waits.
  void poll();

 private:
  void run_micro_batches(int64_t count, double factor);
  void forward_one(int64_t micro_batch);
  void backward_one(int64_t micro_batch, bool last);
  void take_tokens(Tape<Real>& tape, int64_t micro_batch);
  void start_reduction(size_t block);
  void finish_reductions();
  double gradient_squares();
  void update(double scale);
  void update_block(const Block& block, const AdamStep& step);
  template <typename F>
  void wait_in(double& seconds, F call);

  Comm& comm_;
  Fabric<Real>& fabric_;
  Backend<Real>& ops_;
  const Stage stage_;
  const Text& text_;
  const Recipe recipe_;
  Fault fault_;
  Watch<Real> watch_;
  Parameters<Real> parameters_;
  Decoder<Real> decoder_;
  std::vector<Tape<Real>> tapes_;
  std::vector<std::unique_ptr<Pending>> pending_;
  std::function<void()> moved_ = [] {};
  bool exchanging_ = true;  // false in a twin step
  int64_t steps_ = 0;
  double loss_sum_ = 0;
  double factor_ = 0;
  StepTimes times_;
};

extern template class Trainer<float>;
extern template class Trainer<double>;

}  // namespace cb::training
