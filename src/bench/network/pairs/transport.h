#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/messages/said.h"

// How to measure a schedule of pairs: mpi, nccl, tcp and verbs each implement it. In a round, each
// rail of a rank has at most one peer to send to and one to receive from.
namespace cb {

enum class PairMeasure {
  bandwidth,  // bytes per second that arrive: the figure of the receiving end
  latency     // seconds of half a round trip (a whole one for reads): figure of the sender
};

// One transfer of a round, seen from one of its two ranks.
struct PairTask {
  int peer = -1;         // rank of the other end
  bool sends = false;    // true: this rank is the pair's `from`
  bool two_way = false;  // both ends send; the figure of an end is what arrives at it
  int rail = 0;          // index of the host's NIC; transports without rails ignore it
  PairMeasure measure = PairMeasure::bandwidth;
  uint64_t bytes = 0;  // bytes of a message
  double seconds = 0;  // approximate time to measure
};

struct PairFigure {
  std::optional<double> value;  // absent if the transfer failed
  Said failure = {};            // what happened and to whom
};

class PairTransport {
 public:
  virtual ~PairTransport() = default;
  // The name for messages: "tcp over eth0".
  virtual std::string name() const = 0;
  // Number of NICs of this host that can be driven at the same time; rails are numbered from 0.
  virtual int rails() const { return 1; }
  // The NIC of that rail, "mlx5_3"; empty if only the host has a name.
  virtual std::string rail_name(int /*rail*/) const { return {}; }
  // The kind of entity that a rail is.
  virtual const char* rail_kind() const { return "nic"; }
  // True if ranks of one host do not share a NIC: each uses its own memory or its own GPU. Only
  // then do their transfers with each other tell something about each rank.
  virtual bool ranks_have_own_ways() const { return false; }
  // Bytes of a message that keeps the transport busy, for users who name no size.
  virtual uint64_t usual_bytes() const { return 1U << 20; }
  // Bytes of the host's memory that the messages of one end of such a transfer take; 0 if they are
  // in a GPU.
  virtual uint64_t host_memory(const PairTask& /*task*/) const { return 0; }
  // Collective over all ranks, those without a task included. Exchanges what a connection needs and
  // connects. If a peer does not answer, only its tasks fail, in run().
  virtual void connect(std::span<const PairTask> mine, double deadline_seconds) = 0;
  // Local. Runs this rank's tasks at the same time. Returns one figure for each, after
  // `deadline_seconds` at the latest.
  virtual std::vector<PairFigure> run(std::span<const PairTask> mine, double deadline_seconds) = 0;
};

}  // namespace cb
