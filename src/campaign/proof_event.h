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
  bool ended = false;  // true: an end; false: a start
  int attempt = 1;
  std::string at;
  std::string fingerprint = {};
  std::vector<std::string> command = {};  // only for a start
  // The result, including its step, host and file.
  Proof proof = {};
  std::string sha256 = {};  // digest of its file; empty if there is none
  size_t session = 0;       // index into Journal::sessions: the run that wrote this line
};

nlohmann::json proof_event_json(const ProofEvent& event);
// Throws if the line lacks anything, or names a file that is no proof of the job.
ProofEvent proof_event_from(const nlohmann::json& line);

// All lines about one job's proofs, in order.
struct ProofHistory {
  std::vector<ProofEvent> events;

  const ProofEvent* start_of(int attempt) const;
  // The end that decides: the first one in which a check was blind, else the last one; null if none
  // has ended.
  const ProofEvent* deciding() const;
  int attempts() const;  // number of attempts begun
};

using ProofHistories = std::map<std::string, ProofHistory>;

}  // namespace cb
