#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/messages/said.h"

// Which ranks a job waits for: from the last state that each rank told to the ones that did not
// arrive. Pure; docs/methods/hang.md says how it decides.
namespace cb {

enum class RankLink {
  connected,
  closed,  // ended its part in order
  lost,    // the connection broke: the process or its host is gone
  never    // never connected to rank 0
};

// What rank 0 knows of a rank.
struct RankState {
  int rank = 0;
  std::string host = {};
  std::string note = {};      // "all_reduce 64K, sampling"
  uint64_t entered = 0;       // collective steps that it has begun
  uint64_t left = 0;          // and finished
  double idle_seconds = 0;    // since its last progress
  double silent_seconds = 0;  // since its last sign of life
  RankLink link = RankLink::connected;
  std::string failure = {};  // why it has given up, as pack_said() packs it; empty unless it has
};

inline bool has_failed(const RankState& r) { return !r.failure.empty(); }

struct AbsentRank {
  int rank = 0;
  std::string host = {};
  Said why = {};  // "has been silent for 3.1 s: stopped, or its host is"
};

struct HangDiagnosis {
  std::vector<AbsentRank> absent;  // the ranks at fault, as far as it can be told
  Said reason;                     // one line for the document: who did not arrive, and where
  std::vector<std::string> lines;  // every rank's last state, the absent ones first
};

// A rank that has given no sign of life for so long is silent.
inline constexpr double kSilentSeconds = 2;

// Absent are: ranks that failed; else lost ranks; else silent ones; else ranks that are behind the
// others and not inside a collective step; else those that are behind. If all are equally far,
// nobody is absent and the network between them is to blame.
HangDiagnosis diagnose_hang(const std::vector<RankState>& ranks);

// "0-3,7": for messages.
std::string rank_ranges(const std::vector<int>& ascending);

}  // namespace cb
