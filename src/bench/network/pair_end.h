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

// What the network cases (verbs, tcp) measure pairs with.
namespace cb::net {

// One transfer of a round as one of its ends sees it.
struct PairJob {
  PairTask task;
  int peer_rail = 0;
  std::string name = {};  // "n1:mlx5_0 → n2:mlx5_0", for messages
};

// What one end knows after a transfer. Both ends know the same figures.
struct PairOutcome {
  std::vector<double> bytes_per_second;  // one a repetition; two-way: the sum of both directions
  std::vector<double> arriving_bytes_per_second;  // at this end alone, of a two-way transfer
  std::vector<double> messages_per_second;        // likewise
  Histogram latency_seconds;
  std::map<std::string, double> extra;  // further figures of this end, by metric name
  std::map<std::string, Said> facts = {};
  std::optional<Said> wrong_data;  // absent: not verified; empty: right
  Said failure = {};               // what happened and to whom; empty if it went well

  // The median of the repetitions (two-way: of what arrived at this end) or of the latencies;
  // absent if it failed.
  PairFigure figure(PairMeasure measure) const;
};

// One end of one transfer: made, its address told to the peer, connected, run once, destroyed.
class PairEnd {
 public:
  virtual ~PairEnd() = default;
  // What the other end needs to connect: one line of text.
  virtual std::string address() = 0;
  // Throws Error naming the peer if it cannot be done before the deadline.
  virtual void connect(const std::string& peer_address, double deadline_seconds) = 0;
  // Never throws for what the network or the peer does: that is the outcome's failure.
  virtual PairOutcome run(double deadline_seconds) = 0;
};

// Throws Error when the host cannot provide the end.
using MakeEnd = std::function<std::unique_ptr<PairEnd>(const PairJob&)>;

}  // namespace cb::net
