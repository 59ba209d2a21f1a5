#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/network/pairs/transport.h"
#include "core/histogram.h"
#include "core/messages/said.h"

// How the network cases (verbs, tcp) measure pairs.
namespace cb::net {

// One transfer of a round, seen from one of its ends.
struct PairJob {
  PairTask task;
  int peer_rail = 0;
  std::string name = {};  // "n1:mlx5_0 → n2:mlx5_0", for messages
};

// The result of a transfer at one end. Both ends know the same figures. Rates have one value per
// repetition; those of a two-way transfer are the sum of both directions.
struct PairOutcome {
  std::vector<double> bytes_per_second;
  std::vector<double> arriving_bytes_per_second;  // two-way only: what arrives at this end
  std::vector<double> messages_per_second;
  Histogram latency_seconds;
  std::map<std::string, double> extra;  // further figures of this end, by metric name
  std::map<std::string, Said> facts = {};
  std::optional<Said> wrong_data;  // absent: not verified; empty: data was right
  Said failure = {};               // what happened and to whom; empty: no failure

  // The median of the repetitions or of the latencies; absent if the transfer failed. In a two-way
  // transfer it is the rate that arrived at this end.
  PairFigure figure(PairMeasure measure) const;
};

// One end of one transfer. It is made, its address goes to the peer, it connects, runs once, and is
// destroyed.
class PairEndpoint {
 public:
  virtual ~PairEndpoint() = default;
  // What the other end needs to connect: one line of text.
  virtual std::string address() = 0;
  // Throws Error that names the peer if it cannot connect before the deadline.
  virtual void connect(const std::string& peer_address, double deadline_seconds) = 0;
  // Never throws because of the network or the peer: such a failure stands in the outcome.
  virtual PairOutcome run(double deadline_seconds) = 0;
};

// Makes an end. Throws Error if the host cannot provide it.
using MakeEndpoint = std::function<std::unique_ptr<PairEndpoint>(const PairJob&)>;

}  // namespace cb::net
