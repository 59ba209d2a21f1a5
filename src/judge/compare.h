#pragma once

#include <optional>
#include <string>
#include <vector>

#include "judge/compare_fingerprint.h"
#include "judge/compare_hosts.h"
#include "judge/measured.h"
#include "judge/verdict.h"

// What has changed between two campaigns: figures, checks, verdicts, and what one of them lacks.
namespace cb {

enum class ChangeKind { same, better, worse, undecided };
const char* change_name(ChangeKind kind);

// One metric of one entity at one point, in two campaigns.
struct Change {
  const MetricGroup* before = nullptr;
  const MetricGroup* after = nullptr;
  const MeasuredValue* a = nullptr;
  const MeasuredValue* b = nullptr;
  double share = 0;    // (after − before) / before, of the medians; ±∞ where before is 0
  double p = 1;        // two-sided Mann–Whitney, adjusted for the number of comparisons
  double p_alone = 1;  // as if this were the only one
  ChangeKind kind = ChangeKind::same;
};

// A figure or a check that one campaign has and the other one lacks.
struct Unmatched {
  std::string step;
  std::string what;  // the metric, or "check data"
  Params params = {};
  const CaseInfo* info = nullptr;
  Entity entity;          // as the campaign that has it calls it
  std::string host = {};  // whose it is: the entity's, or its peer's where only that one is gone
  // Lost: the later campaign was asked for it and has nothing of it at any point, so something is
  // missing. Otherwise it was not asked for, or not at this point.
  bool lost = false;
  std::string reason = {};  // why the later campaign lacks it, where a job or a record says so
};

// A check of the data or of a part, in two campaigns; same: it fails in both.
struct CheckChange {
  std::string step, check;
  Params params = {};
  const CaseInfo* info = nullptr;
  Entity entity;  // as the later campaign calls it
  ChangeKind kind = ChangeKind::same;
  std::string detail = {};  // what was wrong, of the later one if it fails
};

// A criterion whose verdict is another one. Each campaign is judged by its own profile, without
// waivers. Undecided: only one of the profiles has the criterion, or they ask for something else.
struct VerdictChange {
  std::string criterion;
  std::optional<State> before, after;
  ChangeKind kind = ChangeKind::undecided;
  std::string reason = {};  // of the later verdict
};

struct Comparison {
  std::vector<FingerprintDifference> fingerprint;
  HostMatch hosts;
  std::vector<Change> changes;  // worst first
  std::vector<Unmatched> missing, added;
  std::vector<CheckChange> checks;  // those that fail in a campaign; that fail now first
  std::vector<VerdictChange> verdicts;
  State overall_before = State::incomplete, overall_after = State::incomplete;

  size_t count(ChangeKind kind) const;  // of figures
  size_t lost() const;
  bool worse() const;  // anything
  bool open() const;   // anything that cannot be told: undecided, not asked for any more, nothing
};

// One campaign with what was derived from it; all of it must outlive the comparison.
struct Compared {
  const Campaign& campaign;
  const std::vector<MetricGroup>& groups;
  const Judgement& judgement;
};

// A figure has changed where that holds at p < 0.01 (Mann & Whitney 1947, with ties, adjusted after
// Benjamini and Hochberg) and is larger than max(2 %, 3 × MAD of the earlier samples): with
// thousands of samples everything is significant, and with one nothing is. A larger change is
// undecided where so few samples could not reach p < 0.01, or where p does so alone but not among
// so many. Hosts are matched by match_hosts(). Points into the groups.
Comparison compare_campaigns(const Compared& before, const Compared& after,
                             const std::vector<MappedHost>& map = {});

// 0 nothing is worse, 1 something is, 3 something cannot be told.
ExitCode exit_code(const Comparison& comparison);

// Two-sided p-value of the Mann–Whitney U test by the normal approximation with ties and
// continuity correction, for more samples than exact_mann_whitney() takes. 1 where both are one and
// the same value.
double mann_whitney(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace cb
