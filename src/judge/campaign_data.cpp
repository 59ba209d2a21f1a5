#include "judge/campaign_data.h"

namespace cb {

const char* job_state_name(JobState state) {
  switch (state) {
    case JobState::done:
      return "done";
    case JobState::failed:
      return "failed";
    case JobState::deadline:
      return "deadline";
    case JobState::not_applicable:
      return "not-applicable";
    case JobState::missing:
      return "missing";
  }
  return "missing";
}

const char* proof_state_name(ProofState state) {
  if (state == ProofState::shown) return "shown";
  return state == ProofState::impossible ? "impossible" : "not-shown";
}

}  // namespace cb
