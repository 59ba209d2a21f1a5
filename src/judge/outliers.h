#pragma once

#include <vector>

#include "judge/measured.h"

namespace cb {

// An entity far behind its peers: same metric, same point of parameters, same kind.
struct Outlier {
  const MetricGroup* group = nullptr;
  size_t value = 0;   // index into group->values
  double z = 0;       // robust standard deviations behind the median of all, positive
  double q = 0;       // smallest false-discovery rate at which it would still be reported
  double behind = 0;  // share of the median that it is behind
};

// Robust z = 0.6745 (median − x) / max(MAD, 0.5 % of the median) (Iglewicz & Hoaglin 1993; the
// floor because a healthy fleet has next to no spread), one-sided to the worse side. Reported are
// z > 3.5 that also hold at a false-discovery rate of 1 % over all entities of all groups
// (Benjamini & Hochberg 1995). Groups of fewer than eight entities have no peers to speak of. The
// worst first. A finding, never a verdict: what all parts are is not what the contract asks.
std::vector<Outlier> find_outliers(const std::vector<MetricGroup>& groups);

// The Benjamini–Hochberg adjusted values of p-values, in their order.
std::vector<double> adjusted_for_discovery(const std::vector<double>& p);

}  // namespace cb
