#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/harness/cancel.h"
#include "bench/harness/comm.h"
#include "bench/harness/watchdog.h"
#include "core/result.h"
#include "model/hang.h"

// A channel over TCP from every rank to rank 0, on threads of its own: MPI cannot be interrupted,
// so what a stuck rank was doing must be known without it. docs/methods/hang.md.
namespace cb {

// What the side channel found wrong, told on rank 0.
struct JobFailure {
  enum class Kind {
    expired,   // a rank's deadline or stall limit has passed
    lost,      // a rank's connection broke
    failed,    // a rank has failed and the others wait for it
    cancelled  // the job was asked to stop half a second ago and has not yet
  };
  Kind kind = Kind::expired;
  double idle_seconds = 0;     // of the rank that expired
  double used_up_seconds = 0;  // WatchState's, of that rank
  HangDiagnosis diagnosis = {};
  std::vector<Record> finished = {};  // joined from what the ranks published
};

class SideChannel {
 public:
  virtual ~SideChannel() = default;
  // Rank 0 keeps this share of a finished record, also if this rank is lost.
  virtual void publish(const Record& record) = 0;
  // This rank's watchdog has expired. True as long as rank 0 has been told and answers: it will end
  // the job. False if that cannot be expected. May be asked again and again.
  virtual bool expired(const WatchState& state) = 0;
  // Ends it in order. `why` is what made this rank stop, empty if nothing is wrong. Idempotent.
  virtual void close(const std::string& why = {}) = 0;
};

struct SideChannelOptions {
  std::string interface = {};  // whose addresses rank 0 offers; all if empty
  // Rank 0, on the channel's thread, once for `expired`, `lost` or `failed` (which end the job) and
  // once for `cancelled`.
  std::function<void(JobFailure)> on_trouble = {};
  // Rank 0, while the job runs: the joined records that every rank has published, again when there
  // are more. On the channel's thread; of one rank alone on that which publishes.
  std::function<void(std::vector<Record>)> on_finished = {};
  // The other ranks, on the channel's thread: rank 0 has gone.
  std::function<void(const std::string& host)> on_root_lost = {};
  // Once a rank has failed, the others may be within a long step after which they hear of it by
  // themselves: `failed` is told when none of them has moved for this long.
  double failed_grace_seconds = 15;
};

// Collective. Tells `watchdog` when rank 0 has heard of an expiry. Rank 0 listens, the others
// connect in the background; a rank that cannot is told apart in the diagnosis. Throws UsageError
// on every rank if the interface does not exist on rank 0's host. One rank alone speaks for itself:
// its on_trouble is called by expired().
std::unique_ptr<SideChannel> open_side_channel(Comm& comm, const RankMap& place, Watchdog& watchdog,
                                               const CancelToken& cancel,
                                               SideChannelOptions options);

// The joined records from what each rank published. Shares of one record have the same params and
// come in the same order on every rank. Where ranks' shares are missing a note says whose.
std::vector<Record> join_published(const std::vector<std::vector<Record>>& published);

}  // namespace cb
