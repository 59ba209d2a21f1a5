#pragma once

#include <optional>
#include <vector>

#include "core/messages/texts.h"
#include "judge/campaign_data.h"

namespace cb {

// Counts what the proofs of a campaign have shown.
struct ProofCount {
  size_t steps = 0;                          // steps in which a fault can be planted
  size_t shown = 0;                          // of these steps, those with a proof on every host
  size_t jobs = 0;                           // jobs that found the planted fault
  std::vector<std::string> impossible = {};  // steps in which no fault can be planted
  bool whole() const { return shown == steps; }
};
ProofCount count_proofs(const std::vector<Proof>& proofs);

// Says the same in sentences; empty if nobody asked for proofs.
std::vector<Message> proof_messages(const std::vector<Proof>& proofs);

}  // namespace cb
