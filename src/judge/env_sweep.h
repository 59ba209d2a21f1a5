#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

// Which of several ways to run the same measurement is best, point by point, and whether that is
// more than the spread between jobs. docs/methods/sweep.md.
namespace cb {

// One job: a combination of variables, in a block in which every combination runs once.
struct SweepRun {
  size_t combination = 0;
  size_t block = 0;
  bool control = false;                // the first combination once more, as if it were another one
  const Document* document = nullptr;  // null if it gave nothing
};

// One combination at one point. A job's figure is the median of the entity that is worst there.
struct SweepFigure {
  size_t combination = 0;
  double median = 0;  // of the jobs' figures
  size_t jobs = 0;
  double p = 1;  // that it is as good as the best, of this comparison alone
};

enum class SweepVerdict {
  best,           // the first differs from every other one by more than jobs of one setting do
  no_difference,  // it does not
  too_few         // fewer than two blocks have two combinations, or a figure is not above 0
};

// All combinations at one point, the best first; equal ones in their order.
struct SweepPoint {
  Params params;
  std::vector<SweepFigure> ranked;
  SweepVerdict verdict = SweepVerdict::too_few;
  std::optional<double> control = {};   // by what share the first combination differs from itself
  std::optional<double> smallest = {};  // the least difference that so many jobs could show
};

// The metric that a sweep compares unless told: the first of the case's list that some run has.
// Nothing if none has any of them.
std::optional<MetricDef> sweep_metric(const CaseInfo& info, const std::vector<SweepRun>& runs);

// Points in the order in which they first occur. Records without the metric (skipped, errored,
// wrong data) are no figures.
std::vector<SweepPoint> rank_sweep(const std::vector<SweepRun>& runs, const MetricDef& metric);

}  // namespace cb
