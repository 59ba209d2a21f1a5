#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/harness/case.h"
#include "bench/network/pairs/transport.h"
#include "model/schedule.h"

// Runs schedules of pairs (src/model/schedule.h) over a transport and brings what was measured
// to rank 0.
namespace cb {

// What takes part in a schedule as one: a host (its first rank) or a rank.
struct Unit {
  int rank = 0;
  std::string host;
  std::string id = {};  // "rank 5" where units are ranks, else empty

  std::string name() const { return id.empty() ? host : host + " " + id; }
};

// One unit per host, or one per rank.
std::vector<Unit> host_units(const Place& place);
std::vector<Unit> rank_units(const Place& place);

// How every pair of a schedule is measured.
struct SurveyPlan {
  PairMeasure measure = PairMeasure::bandwidth;
  bool two_way = false;
  int rails = 1;                 // of each unit, all at the same time; rail i with rail i
  uint64_t bytes = 65536;        // a message
  double seconds = 0.2;          // per round, about
  double deadline_seconds = 10;  // per round: whoever has not answered then has failed
};

// One directed transfer of a round, as both of its ends saw it.
struct PairReading {
  int from = 0;  // units
  int to = 0;
  int rail = 0;
  int round = 0;  // counted over all runs of the survey
  bool alone = false;
  std::optional<double> value = {};  // bytes per second, or seconds of latency
  Said failure = {};                 // if there is no value
};

class PairSurvey {
 public:
  // `units` are the same on all ranks; ranks that are none of them only take part in the barriers.
  PairSurvey(Context& context, PairTransport& transport, std::vector<Unit> units, SurveyPlan plan)
      : context_(context), transport_(transport), units_(std::move(units)), plan_(plan) {}

  // Collective; the same rounds on all ranks. In each round `from` sends to `to` (with two_way both
  // do, and each direction gives a reading). The readings of all rounds on rank 0, elsewhere empty.
  // `alone`: said of the readings; the caller made rounds of one pair. Throws Interrupted when
  // cancelled.
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

// The same rounds with every pair turned round, each behind the round it came from: both directions
// of a schedule of undirected pairs.
std::vector<Round> both_directions(const std::vector<Round>& rounds);

}  // namespace cb
