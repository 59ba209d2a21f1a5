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
  double p_alone = 1;  // p of this comparison alone, not adjusted
  ChangeKind kind = ChangeKind::same;
};

// A figure or a check that one campaign has and the other one lacks.
struct Unmatched {
  std::string step;
  std::string what;  // the metric, or "check data"
  Params params = {};
  const CaseInfo* info = nullptr;
  Entity entity;          // named as in the campaign that has it
  std::string host = {};  // the entity's host; its peer's host if only that one is gone
  // True: the later campaign was asked for it and has none of it at any point, so something is
  // missing. False: it was not asked for, or only this point is absent.
  bool lost = false;
  std::string reason = {};  // why the later campaign lacks it, if a job or a record says so
};

// A check of the data or of a part, in two campaigns. `same` means that it fails in both.
struct CheckChange {
  std::string step, check;
  Params params = {};
  const CaseInfo* info = nullptr;
  Entity entity;  // named as in the later campaign
  ChangeKind kind = ChangeKind::same;
  std::string detail = {};  // what was wrong; the later campaign's detail if it fails there
};

// A criterion whose verdict differs. Each campaign is judged by its own profile, without waivers.
// Undecided: only one profile has the criterion, or the profiles ask for different things.
struct VerdictChange {
  std::string criterion;
  std::optional<State> before, after;
  ChangeKind kind = ChangeKind::undecided;
  std::string reason = {};  // the later verdict's reason
};

struct Comparison {
  std::vector<FingerprintDifference> fingerprint;
  HostMatch hosts;
  std::vector<Change> changes;  // worst first
  std::vector<Unmatched> missing, added;
  std::vector<CheckChange> checks;  // all that fail in either campaign; those that fail now first
  std::vector<VerdictChange> verdicts;
  State overall_before = State::incomplete, overall_after = State::incomplete;
  // What is wrong with either campaign's evidence. Figures that somebody may have changed prove
  // neither that something is worse nor that nothing is.
  std::vector<Said> doubts_before = {}, doubts_after = {};

  size_t count(ChangeKind kind) const;  // number of figures whose change is of this kind
  size_t lost() const;
  bool worse() const;  // true if any figure, check, verdict or host is worse
  // True if something is undecided, in doubt or no longer asked for, or if nothing compares.
  bool open() const;
};

// One campaign with what was derived from it. All of it must outlive the comparison.
struct Compared {
  const Campaign& campaign;
  const std::vector<MetricGroup>& groups;
  const Judgement& judgement;
};

// A figure has changed if p < 0.01 (Mann & Whitney 1947, with ties, adjusted after Benjamini and
// Hochberg) and the change is larger than max(2 %, 3 × MAD of the earlier samples): with thousands
// of samples everything is significant, and with one nothing is. A larger change is undecided if
// its samples are too few ever to reach p < 0.01, or if it reaches p < 0.01 alone but not after the
// adjustment. match_hosts() matches the hosts. The result points into the groups.
Comparison compare_campaigns(const Compared& before, const Compared& after,
                             const std::vector<MappedHost>& map = {});

// Returns 0 if nothing is worse, 1 if something is, 3 if something cannot be told.
ExitCode exit_code(const Comparison& comparison);

// Two-sided p-value of the Mann–Whitney U test by the normal approximation with ties and continuity
// correction, for more samples than exact_mann_whitney() takes. Returns 1 if all samples have the
// same value.
double mann_whitney(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace cb
