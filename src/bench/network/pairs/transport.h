#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/messages/said.h"

// What a schedule of pairs is measured with: one implementation each for mpi, nccl, tcp, verbs. A
// round gives a rank's rail at most one peer to send to and one to receive from.
namespace cb {

enum class PairMeasure {
  bandwidth,  // bytes per second that the sender's bytes arrive with: the receiving end's figure
  latency     // seconds: half a round trip, or a whole one where the operation is one: the sender's
};

// One transfer of a round, as one of its two ranks sees it.
struct PairTask {
  int peer = -1;         // rank
  bool sends = false;    // this rank is the pair's `from`
  bool two_way = false;  // both send; each end's figure is of what arrives at it
  int rail = 0;          // position among the host's NICs; transports without rails ignore it
  PairMeasure measure = PairMeasure::bandwidth;
  uint64_t bytes = 0;  // a message
  double seconds = 0;  // measure for about this long
};

struct PairFigure {
  std::optional<double> value;  // absent if it failed
  Said failure = {};            // what happened and to whom
};

class PairTransport {
 public:
  virtual ~PairTransport() = default;
  // For messages: "tcp over eth0".
  virtual std::string name() const = 0;
  // NICs of this host that it can drive at the same time; rails are numbered from 0.
  virtual int rails() const { return 1; }
  // The NIC of that rail, "mlx5_3"; empty where there is only the host.
  virtual std::string rail_name(int /*rail*/) const { return {}; }
  // What a rail is, as the kind of an entity.
  virtual const char* rail_kind() const { return "nic"; }
  // Whether every rank of a host has a way of its own (its memory, its GPU), so that what they
  // reach among themselves tells of it. Ranks that share the host's NICs have not.
  virtual bool ranks_have_own_ways() const { return false; }
  // A message that keeps it busy, where the user names no size.
  virtual uint64_t usual_bytes() const { return 1U << 20; }
  // Collective over all ranks, also those without a task: exchanges what a connection needs and
  // connects. A peer that does not answer makes its tasks fail in run(), nothing else.
  virtual void connect(std::span<const PairTask> mine, double deadline_seconds) = 0;
  // Local: runs this rank's tasks at the same time and returns one figure for each, at the latest
  // after `deadline_seconds`.
  virtual std::vector<PairFigure> run(std::span<const PairTask> mine, double deadline_seconds) = 0;
};

}  // namespace cb
