#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "judge/campaign_data.h"

namespace cb {

// A line of the journal about a job with a planted fault.
struct ProofEvent {
  std::string job;     // JobKey::name
  bool ended = false;  // else it starts here
  int attempt = 1;
  std::string at;
  std::string fingerprint = {};
  std::vector<std::string> command = {};  // of a start
  // What came of it; its step, host and file too.
  Proof proof = {};
  std::string sha256 = {};  // of its file; empty where there is none
  size_t session = 0;       // index into Journal::sessions of the run that wrote this line
};

nlohmann::json proof_event_json(const ProofEvent& event);
// Throws if the line lacks anything, or names a file that no proof has.
ProofEvent proof_event_from(const nlohmann::json& line);

// All lines about one job's proofs, in order.
struct ProofHistory {
  std::vector<ProofEvent> events;

  const ProofEvent* start_of(int attempt) const;
  // The one that decides: a check that was blind once stays that, else the last that ended; null
  // where none did.
  const ProofEvent* deciding() const;
  int attempts() const;  // begun
};

using ProofHistories = std::map<std::string, ProofHistory>;

}  // namespace cb
