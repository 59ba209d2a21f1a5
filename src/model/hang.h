#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/messages/said.h"

// Finds the ranks that a job waits for, from the last state that each rank reported. Pure;
// docs/methods/hang.md says how it decides.
namespace cb {

enum class RankLink {
  connected,
  closed,  // the rank ended its part in order
  lost,    // the connection broke: the process or its host is gone
  never    // never connected to rank 0
};

// What rank 0 knows about a rank.
struct RankState {
  int rank = 0;
  std::string host = {};
  std::string note = {};      // "all_reduce 64K, sampling"
  uint64_t entered = 0;       // number of collective steps that it has begun
  uint64_t left = 0;          // number of collective steps that it has finished
  double idle_seconds = 0;    // time since its last progress
  double silent_seconds = 0;  // time since its last sign of life
  double lost_seconds = 0;    // time since its connection broke
  RankLink link = RankLink::connected;
  std::string failure = {};  // why it gave up, packed by pack_said(); empty unless it failed
  bool met = false;          // waits where all meet, behind what they measured apart
};

inline bool has_failed(const RankState& r) { return !r.failure.empty(); }

struct AbsentRank {
  int rank = 0;
  std::string host = {};
  Said why = {};  // "has been silent for 3.1 s: stopped, or its host is"
};

struct HangDiagnosis {
  std::vector<AbsentRank> absent;  // the ranks at fault, as far as that is known
  Said reason;                     // which rank did not arrive, and where, in one line
  std::vector<std::string> lines;  // every rank's last state, the absent ones first
};

// A rank without a sign of life for this time is silent.
inline constexpr double kSilentSeconds = 2;

// The absent ranks are those that failed; else those whose connection is lost, in the order in
// which that happened, since an MPI may end ranks that talked to the first; else silent ones; else
// those behind the others and not inside a collective step; else those behind; else, where others
// have come to a meeting, those outside a step. If all ranks are equally far, none is absent and
// the network between them is to blame. Who has come to a meeting is not behind.
HangDiagnosis diagnose_hang(const std::vector<RankState>& ranks);

// The hosts of the absent ranks, each once, without those whose ranks an MPI may have ended because
// of the first that was lost.
std::vector<std::string> hosts_at_fault(const HangDiagnosis& diagnosis);

// "0-3,7": for messages.
std::string rank_ranges(const std::vector<int>& ascending);

}  // namespace cb
