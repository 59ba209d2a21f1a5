#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "judge/campaign_data.h"
#include "judge/finding.h"
#include "judge/waivers.h"

namespace cb {

enum class State { pass, warn, fail, incomplete, not_applicable, waived };
const char* state_name(State state);  // "pass", "not-applicable", …

// The verdict on one criterion. value, limit and ceiling are in `unit`.
struct CriterionVerdict {
  const Criterion* criterion = nullptr;  // in the judged profile
  State state = State::incomplete;
  std::string reason;  // why, in a sentence, with host and next step where it is not a pass
  std::string unit;
  std::optional<double> value;  // of the worst entity
  std::optional<double> limit;
  bool limit_is_minimum = true;
  std::optional<double>
      ratio;  // value over limit (below 1 is worse for a minimum, above 1 for a maximum)
  std::optional<Ceiling> ceiling;  // of the worst entity
  std::optional<Entity> worst;
  std::string at;                           // the parameters of the worst record, "size 8G"
  size_t entities = 0;                      // judged
  const Waiver* waiver = nullptr;           // of the worst waived entity
  std::vector<const Waiver*> waivers = {};  // all that let an entity of this criterion pass
  std::vector<Message> why = {};            // the reason, for another language
  std::vector<Finding> failing = {};        // every entity that fails or warns, the worst first
  std::vector<Gap> gaps = {};               // everything that was not measured
  bool impossible = false;                  // the limit is above what physics allows every entity
};

struct Judgement {
  // In the profile's order; then, for each step with something that no criterion says, what speaks
  // against it (a StepRule).
  std::vector<CriterionVerdict> criteria;
  std::vector<std::shared_ptr<const Criterion>> of_steps;  // of the latter
  std::string judged_by;             // name of the profile, where it is not the campaign's own
  bool test_profile = false;         // it runs scripted cases: whatever it says is of no machine
  std::vector<Message> proofs = {};  // what run --prove has shown; empty where nobody asked
  bool proven = true;                // all that was asked
  // What is wrong with the evidence as a whole (Campaign::warnings): with one of them nothing is
  // accepted.
  std::vector<Said> doubts = {};
  size_t count(State state) const;
  // Said where fewer than half of the criteria that can fail apply to these hosts: a profile most
  // of which is not applicable is for other hosts, and accepts nothing here.
  std::optional<Message> too_few_apply() const;
  // fail if a criterion fails; else incomplete if one is incomplete, nothing was judged, too few
  // apply or the evidence is in doubt; else pass. A warning or a waived criterion does not stop
  // acceptance.
  State overall() const;
};

const char* verdict_name(const Judgement& judgement);  // accepted, not-accepted, incomplete

// The criteria whose limits no entity could reach, as problems of the profile.
Problems profile_problems(const Judgement& judgement);

// Pure: the campaign's records against its profile. Nothing unmeasured passes.
// Profile and waivers outlive the judgement, which points into them.
Judgement judge(const Campaign& campaign, const Profile& profile,
                const std::vector<Waiver>& waivers, const std::string& today);
Judgement judge(const Campaign& campaign, Profile&& profile, const std::vector<Waiver>& waivers,
                const std::string& today) = delete;

// 0 accepted, 1 not accepted, 3 incomplete.
ExitCode exit_code(const Judgement& judgement);

}  // namespace cb
