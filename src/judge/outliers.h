#pragma once

#include <vector>

#include "judge/measured.h"

namespace cb {

// An entity far behind its peers: same metric, same point of parameters, same kind.
struct Outlier {
  const MetricGroup* group = nullptr;
  size_t value = 0;   // index into group->values
  double z = 0;       // robust standard deviations that it is behind the median of all; positive
  double q = 0;       // smallest false-discovery rate at which it is still reported
  double behind = 0;  // how far it is behind, as a share of the median
};

// Robust z = 0.6745 (median − x) / max(MAD, 0.5 % of the median) (Iglewicz & Hoaglin 1993),
// one-sided to the worse side; the floor is there because a healthy fleet has next to no spread.
// Reports z > 3.5 that also hold at a false-discovery rate of 1 % over all entities of all groups
// (Benjamini & Hochberg 1995), the worst first. Ignores groups of fewer than eight entities: they
// have too few peers. An outlier is a finding, never a verdict: the contract does not ask for what
// all parts have in common.
std::vector<Outlier> find_outliers(const std::vector<MetricGroup>& groups);

// Returns the Benjamini–Hochberg adjusted p-values, in the order of `p`.
std::vector<double> adjusted_for_discovery(const std::vector<double>& p);

}  // namespace cb
