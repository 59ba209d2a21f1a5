#pragma once

#include <array>
#include <memory>
#include <vector>

#include "bench/training/stage.h"

// The loops over rows of one training step: everything that is neither product nor attention nor
// optimizer. docs/methods/training-prediction.md.
namespace cb::training {

enum class Loop {
  norm,
  norm_backward,
  rotate,
  swiglu,
  swiglu_backward,
  look,  // for numbers that are not finite
  copy,
  add,
  zero,
  embed,
  embed_backward,
  row_max,
  exponentials,
  loss_backward,
};

struct StepLoop {
  Loop loop = Loop::norm;
  int64_t rows = 0;
  int64_t width = 0;
  double count = 0;  // of a step

  bool operator==(const StepLoop&) const = default;
};

// Of the rank at that stage, without zeroing the gradients. `head_rows`: rows of logits at a time.
std::vector<StepLoop> loops_of_step(const Stage& stage, int64_t head_rows);

// Bytes that the loop reads and writes, each array once: as the backend's ledger counts them.
double bytes_of(const StepLoop& loop);

// Elements that a LoopProbe allocates at most, on a rank that holds all of the shape's parameters.
int64_t loop_probe_elements(const Stage& stage);

// Times loops alone, with the caches as in a step: a call finds there what the operation before it
// wrote, and all else as after reading `other_bytes`.
class LoopProbe {
 public:
  LoopProbe(Backend<float>& backend, const Stage& stage, std::vector<StepLoop> loops,
            int64_t other_bytes);
  double seconds(const StepLoop& loop);  // of one call
  double step_seconds();                 // of all calls of a step

 private:
  void write(const StepLoop& loop, int array);
  void call(const StepLoop& loop);

  Backend<float>& ops_;
  const Stage stage_;
  std::vector<StepLoop> loops_;
  int64_t other_elements_ = 0;
  std::shared_ptr<float[]> other_, normal_, small_, sums_, target_;
  std::array<std::shared_ptr<float[]>, 3> arrays_;
  std::vector<int32_t> tokens_;
};

}  // namespace cb::training
