#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/harness/case.h"
#include "bench/network/round.h"
#include "bench/network/schedule.h"

namespace cb::net {

// What a network case asks of measure_rounds().
struct Measurement {
  std::string case_name;
  Params params;  // parameters of the record
  PairTask task;  // measure, bytes, two_way, seconds
  std::string latency_name = "half_round_trip_seconds";
  std::vector<RailRound> rounds = {};
  std::map<std::string, Said> facts = {};                 // facts of the record
  double deadline_seconds = 30;                           // limit of one round
  std::vector<std::vector<std::string>> rail_names = {};  // by node, then by rail
  MakeEndpoint make = {};
  // The ceiling of a pair's bandwidth, if one is known.
  std::function<std::optional<Ceiling>(const RailPair&)> ceiling = {};
  // A flow that is measured alone first: victim_flow().
  std::optional<HostPair> victim = {};
};

// Collective. Runs the rounds and returns this rank's share of the record: samples per pair and
// rail (on the sender's rank), one check "data" per receiving end, one check "transfer" per failed
// pair. For incast, one-to-many and all-to-all it adds the sum and Jain's fairness index of each
// round. Of a victim it adds alone_bytes_per_second and victim_share, the median beside the others
// over the median alone. If every pair of the record failed, the record is errored. Throws
// Interrupted if cancelled.
Record measure_rounds(Context& context, const Nodes& nodes, const Measurement& m);

// Jain's index (sum x)² / (n sum x²) of positive rates: 1 if all are equal, 1/n if one has
// everything (Jain, Chiu, Hawe 1984).
double fairness_index(const std::vector<double>& rates);

}  // namespace cb::net
