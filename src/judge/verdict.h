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
  const Criterion* criterion = nullptr;  // points into the judged profile
  State state = State::incomplete;
  std::string reason;  // in a sentence; names host and next step unless it is a pass
  std::string unit;
  std::optional<double> value;  // the worst entity's value
  std::optional<double> limit;
  bool limit_is_minimum = true;
  std::optional<double>
      ratio;  // value over limit (below 1 is worse for a minimum, above 1 for a maximum)
  std::optional<Ceiling> ceiling;  // the worst entity's ceiling
  std::optional<Entity> worst;
  std::string at;                           // the parameters of the worst record, "size 8G"
  size_t entities = 0;                      // number of entities judged
  const Waiver* waiver = nullptr;           // the waiver of the worst waived entity
  std::vector<const Waiver*> waivers = {};  // all that let an entity of this criterion pass
  std::vector<Message> why = {};            // the reason as messages, for any language
  std::vector<Finding> failing = {};        // every entity that fails or warns, the worst first
  std::vector<Gap> gaps = {};               // everything that was not measured
  bool impossible = false;                  // the limit is beyond physics for every entity
};

struct Judgement {
  // First those of the profile, in its order. Then one for each step that has a failure or gap that
  // no criterion says (a StepRule), and one for the delivery (a DeliveryRule) if it needs one.
  std::vector<CriterionVerdict> criteria;
  std::vector<std::shared_ptr<const Criterion>> of_steps;  // owns the criteria of those steps
  std::string judged_by;             // the judging profile's name, if it is not the campaign's own
  bool test_profile = false;         // it runs scripted cases: it judges no machine
  std::vector<Message> proofs = {};  // what `run --prove` has shown; empty if nobody asked
  bool proven = true;                // all proofs that were asked for are shown
  // What is wrong with the evidence as a whole (Campaign::warnings). A campaign with a doubt is
  // never accepted.
  std::vector<Said> doubts = {};
  size_t count(State state) const;
  // Returns a message if fewer than half of the criteria that can fail apply to these hosts: such a
  // profile is for other hosts, and accepts nothing here.
  std::optional<Message> too_few_apply() const;
  // fail if a criterion fails; else incomplete if one is incomplete, nothing was judged, too few
  // apply or the evidence is in doubt; else pass. A warning or a waived criterion does not prevent
  // acceptance.
  State overall() const;
};

const char* verdict_name(const Judgement& judgement);  // accepted, not-accepted, incomplete

// Returns the criteria whose limits no entity could reach, as problems of the profile.
Problems profile_problems(const Judgement& judgement);

// Judges the campaign's records against a profile; reads and writes no files. Nothing unmeasured
// passes. Profile and waivers must outlive the judgement, which points into them.
Judgement judge(const Campaign& campaign, const Profile& profile,
                const std::vector<Waiver>& waivers, const std::string& today);
Judgement judge(const Campaign& campaign, Profile&& profile, const std::vector<Waiver>& waivers,
                const std::string& today) = delete;

// Returns 0 if accepted, 1 if not accepted, 3 if incomplete.
ExitCode exit_code(const Judgement& judgement);

}  // namespace cb
