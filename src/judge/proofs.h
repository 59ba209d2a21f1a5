#pragma once

#include <optional>
#include <vector>

#include "core/messages/texts.h"
#include "judge/campaign_data.h"

namespace cb {

// What the proofs of a campaign amount to.
struct ProofCount {
  size_t steps = 0;                          // in which a fault can be planted
  size_t shown = 0;                          // of these, with a proof on every host
  size_t jobs = 0;                           // in which the planted fault was found
  std::vector<std::string> impossible = {};  // steps in which none can be planted
  bool whole() const { return shown == steps; }
};
ProofCount count_proofs(const std::vector<Proof>& proofs);

// The same in a sentence; empty where nobody asked for proofs.
std::vector<Message> proof_messages(const std::vector<Proof>& proofs);

}  // namespace cb
