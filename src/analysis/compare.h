#pragma once

#include <string>
#include <vector>

#include "analysis/measured.h"

namespace cb {

enum class ChangeKind { same, better, worse, undecided };
const char* change_name(ChangeKind kind);

// One metric of one entity at one point, in two campaigns.
struct Change {
  const MetricGroup* before = nullptr;
  const MetricGroup* after = nullptr;
  const MeasuredValue* a = nullptr;
  const MeasuredValue* b = nullptr;
  double share = 0;    // (after − before) / before, of the medians
  double p = 1;        // two-sided Mann–Whitney, adjusted for the number of comparisons
  double p_alone = 1;  // as if this were the only one
  ChangeKind kind = ChangeKind::same;
};

// What is not the same of two campaigns, so that a change may come from there.
struct FingerprintDifference {
  std::string what;  // "gpu.model", "tool.version", "hosts", …
  std::string before, after;
};

struct Comparison {
  std::vector<FingerprintDifference> fingerprint;
  std::vector<Change> changes;                       // worst first
  std::vector<std::string> only_before, only_after;  // steps and metrics without a counterpart
  size_t count(ChangeKind kind) const;
};

// A change is one that holds at p < 0.01 (Mann & Whitney 1947, with ties, adjusted after Benjamini
// and Hochberg) and is larger than max(2 %, 3 × MAD of the earlier samples): with thousands of
// samples everything is significant, and with one nothing is. A larger change is undecided where so
// few samples could not reach p < 0.01, or where p does so alone but not among so many. Points into
// the groups.
Comparison compare_campaigns(const Campaign& before, const std::vector<MetricGroup>& groups_before,
                             const Campaign& after, const std::vector<MetricGroup>& groups_after);

// Two-sided p-value of the Mann–Whitney U test by the normal approximation with ties and
// continuity correction, for more samples than exact_mann_whitney() takes. 1 where both are one and
// the same value.
double mann_whitney(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace cb
