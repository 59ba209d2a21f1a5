#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/harness/case.h"
#include "bench/network/pairs/transport.h"
#include "model/schedule.h"

// Runs schedules of pairs (src/model/schedule.h) over a transport and brings the readings to rank
// 0.
namespace cb {

// A member of a schedule: a host (represented by its first rank) or a rank.
struct Unit {
  int rank = 0;
  std::string host;
  std::string id = {};  // "rank 5" if units are ranks, else empty

  std::string name() const { return id.empty() ? host : host + " " + id; }
};

// One unit per host, or one per rank.
std::vector<Unit> host_units(const RankMap& place);
std::vector<Unit> rank_units(const RankMap& place);

// How to measure every pair of a schedule.
struct SurveyPlan {
  PairMeasure measure = PairMeasure::bandwidth;
  bool two_way = false;
  int rails = 1;                 // rails of each unit, all at the same time; rail i with rail i
  uint64_t bytes = 65536;        // bytes of a message
  double seconds = 0.2;          // approximate time of a round
  double deadline_seconds = 10;  // limit of a round; a rank without an answer by then has failed
};

// One directed transfer of a round, joined from what both of its ends saw.
struct PairReading {
  int from = 0;  // index of the sending unit
  int to = 0;
  int rail = 0;
  int round = 0;  // number of the round over all runs of the survey
  bool alone = false;
  std::optional<double> value = {};  // bytes per second, or seconds of latency
  Said failure = {};                 // reason if there is no value
};

class PairSurvey {
 public:
  // `units` are the same on all ranks. A rank that is no unit only takes part in the barriers.
  PairSurvey(Context& context, PairTransport& transport, std::vector<Unit> units, SurveyPlan plan)
      : context_(context), transport_(transport), units_(std::move(units)), plan_(plan) {}

  // Collective; all ranks pass the same rounds. In each round `from` sends to `to`; with two_way
  // both send, and each direction gives a reading. Returns the readings of all rounds on rank 0;
  // elsewhere nothing. `alone` is copied to the readings: the caller made rounds of one pair.
  // Throws Interrupted if cancelled.
  std::vector<PairReading> run(std::span<const Round> rounds, bool alone);

  const std::vector<Unit>& units() const { return units_; }

 private:
  struct Part {  // this rank's share of one reading
    int from, to, rail, round;
    bool sends;
    PairFigure figure;
  };
  std::string partners(const Round& round) const;
  void run_round(const Round& round, std::vector<Part>& parts);
  std::vector<PairReading> join(const std::vector<Part>& mine, bool alone);
  void add_reading(const Part& sender, const Part& receiver, bool alone,
                   std::vector<PairReading>& out) const;

  Context& context_;
  PairTransport& transport_;
  std::vector<Unit> units_;
  SurveyPlan plan_;
  int rounds_done_ = 0;
};

// Returns both directions of a schedule of undirected pairs: each round is followed by a copy in
// which every pair is reversed.
std::vector<Round> both_directions(const std::vector<Round>& rounds);

}  // namespace cb
