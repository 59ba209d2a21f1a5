#pragma once

#include <vector>

#include "report/view_parts.h"

namespace cb {

// How the steps of a training are numbered: those before the checkpoint that it went on from, and
// the first timed one, behind them and the warm-up.
struct StepNumbers {
  size_t resumed_at = 0;
  size_t first = 1;
};

// Of a record of training steps: the phases of each step with the stalls of checkpoints, and the
// phases of each rank in a median step. `whole`: the entity of the job. Nothing where the record
// has not the time of each step and the phases of at least one rank in each of them.
std::vector<Figure> phase_figures(const Record& record, size_t whole, StepNumbers numbers,
                                  const Step& step, const Texts& texts);

}  // namespace cb
