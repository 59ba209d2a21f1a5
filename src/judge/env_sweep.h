#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

// Decides, point by point, which of several ways to run a measurement is best, and whether its lead
// is larger than the spread between jobs. docs/methods/sweep.md.
namespace cb {

// One job: one combination of variables in one block. A block runs every combination once.
struct SweepRun {
  size_t combination = 0;
  size_t block = 0;
  bool control = false;                // repeats the first combination as if it were another
  const Document* document = nullptr;  // null if the job left no document
};

// One combination at one point. A job's figure is the median of its worst entity at that point.
struct SweepFigure {
  size_t combination = 0;
  double median = 0;  // median of the jobs' figures
  size_t jobs = 0;
  double p = 1;  // p of "it is as good as the best", of this comparison alone
};

enum class SweepVerdict {
  best,           // the first differs from every other one by more than jobs of one setting do
  no_difference,  // the best does not differ that much
  jobs_missing,   // the first leads, but some of its jobs gave no figure: it may crash
  too_few         // fewer than two blocks have two combinations, or a figure is not above 0
};

// All combinations at one point, the best first. Equal ones keep their order.
struct SweepPoint {
  Params params;
  std::vector<SweepFigure> ranked;
  SweepVerdict verdict = SweepVerdict::too_few;
  std::optional<double> control = {};   // share by which the first combination differs from itself
  std::optional<double> smallest = {};  // smallest difference that these jobs could show
};

// Returns the metric that a sweep compares by default: the first in the case's list that some run
// has, or nothing.
std::optional<MetricDef> sweep_metric(const CaseInfo& info, const std::vector<SweepRun>& runs);

// Points come in the order in which they first occur. Records without the metric (skipped, errored,
// wrong data) give no figures.
std::vector<SweepPoint> rank_sweep(const std::vector<SweepRun>& runs, const MetricDef& metric);

}  // namespace cb
