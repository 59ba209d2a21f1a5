#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "bench/harness/case.h"
#include "bench/network/round.h"
#include "bench/network/schedule.h"

namespace cb::net {

// What the runner of the network cases must know of a case.
struct Measurement {
  std::string case_name;
  Params params;  // of the record
  PairTask task;  // measure, bytes, two_way, seconds
  std::string latency_name = "half_round_trip_seconds";
  std::vector<RailRound> rounds = {};
  std::map<std::string, Said> facts = {};                 // of the record
  double deadline_seconds = 30;                           // of a round
  std::vector<std::vector<std::string>> rail_names = {};  // of each node
  MakeEnd make = {};
  // The bound of a pair's bandwidth, where one is known.
  std::function<std::optional<Ceiling>(const RailPair&)> ceiling = {};
};

// Collective. Runs the rounds and returns this rank's share of the record: per pair and rail the
// samples (sender's rank), one check "data" per receiving end, one check "transfer" for each pair
// that failed; for incast, one-to-many and all-to-all the sum and Jain's fairness index per round.
// When every pair of the record failed the record is errored. Throws Interrupted when cancelled.
Record measure_rounds(Context& context, const Nodes& nodes, const Measurement& m);

// Jain's index (sum x)² / (n sum x²) of positive rates: 1 when all are equal, 1/n when one has all
// (Jain, Chiu, Hawe 1984).
double fairness_index(const std::vector<double>& rates);

}  // namespace cb::net
