#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

// Which of several ways to run the same measurement gave the best figures, point by point.
namespace cb {

// One combination of environment variables, and what its job gave (null if it gave nothing).
struct SweepRun {
  std::vector<std::string> values;  // one per variable, in their order
  const Document* document = nullptr;
};

// One combination at one point: the median of the entity that is worst there.
struct SweepFigure {
  size_t run = 0;
  double median = 0;
  std::optional<double> half_width = {};  // of its 95 % interval, as a share of it
};

// All combinations at one point, the best first; equal ones in the order of the runs.
struct SweepPoint {
  Params params;
  std::vector<SweepFigure> ranked;
};

// The metric that a sweep compares unless told: the first of the case's list that some run has.
// Nothing if none has any of them.
std::optional<MetricDef> sweep_metric(const CaseInfo& info, const std::vector<SweepRun>& runs);

// Points in the order in which they first occur. Records without the metric (skipped, errored,
// wrong data) are no figures. n log n in the records.
std::vector<SweepPoint> rank_sweep(const std::vector<SweepRun>& runs, const MetricDef& metric);

// Whether the best of a point is told from the second: their 95 % intervals do not touch. False
// where an interval is unknown.
bool clearly_best(const SweepPoint& point);

}  // namespace cb
