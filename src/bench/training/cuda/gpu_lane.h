#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/collectives/nccl/comms.h"
#include "bench/collectives/nccl/cuda/gpu.h"
#include "bench/gpu/cuda/session.h"
#include "bench/training/cuda/device_queue.h"

namespace cb::training {

// An exchange between GPUs failed or did not end. The text names host, GPU, group and next step.
class ExchangeError : public Error {
 public:
  using Error::Error;
};

// What all lanes of this rank's GPU share.
struct LaneTools {
  const nccl::Library& library;
  Context& context;
  const GpuUnit& unit;
  DeviceQueue& queue;  // where the GPU computes
  double hang_after;   // seconds of an exchange, after the GPU has computed what it needs
};

// A group of ranks with a communicator of NCCL and a stream of its own, beside the stream that
// computes. Exchanges of a lane are done one after the other.
class Lane {
 public:
  using Call = std::function<nccl::abi::Result(nccl::abi::Comm, nccl::abi::Stream)>;

  // Collective over the group. `ranks`: who they are, for messages.
  Lane(const LaneTools& tools, const GroupComm& group, Said ranks);

  int rank() const { return comms_->rank(0); }
  int size() const { return comms_->ranks(); }
  const nccl::Functions& library() const { return tools_.library.call(); }
  const LaneTools& tools() const { return tools_; }
  nccl::Communicators& comms() { return *comms_; }

  // Queues an exchange, which begins when the GPU has computed all that was queued until now.
  // `what` is a name that lives on.
  void start(const char* what, const Call& call);
  // The same, and the GPU computes nothing that is queued from now on before it has ended.
  void run(const char* what, const Call& call);
  // What is recorded exchanges by this lane: before and behind its launch. Only the whole launch is
  // seen to end, so a GPU that hangs there is not told from an exchange that does.
  void before_launch();
  void behind_launch();
  // Whether the GPU has come to an exchange that has not ended.
  bool exchanging();
  // The point behind all that was started.
  void record(cuda::Event& event) { event.record(gpu_->queue()); }
  // Throws where an exchange has failed or takes too long. Never waits.
  void look();

 private:
  [[noreturn]] void fail(const Said& why);
  [[noreturn]] void hang();
  // An exchange that was queued: what it waits for, and its end.
  struct Queued {
    cuda::Event ready = {}, ended = {};
    const char* what = "";
    bool whole = false;  // its end was queued too
  };
  Queued& queue_next(const char* what);
  void drop_ended();
  void settled();
  void record_call(const char* what, const Call& call);
  std::string doing() const;
  Said failure(const Said& why) const;

  LaneTools tools_;
  Said ranks_;
  nccl::Devices devices_;
  nccl::Gpu* gpu_;
  std::unique_ptr<nccl::Communicators> comms_;
  std::deque<Queued> queued_;  // in their order; the GPU waits in the first that has not ended
  std::vector<Queued> free_;   // events for later ones
  cuda::Event launched_;
  bool recorded_ = false;  // something was recorded that exchanges by this lane
  const char* what_ = "";
  double since_ = 0;   // monotonic seconds; 0: nothing is waited for
  bool told_ = false;  // the watchdog knows of this wait
};

// An exchange that was started. Its destructor waits, because it writes to the caller's memory.
class LanePoint {
 public:
  explicit LanePoint(Lane& lane) : lane_(lane) { lane.record(at_); }
  ~LanePoint();
  LanePoint(const LanePoint&) = delete;
  LanePoint& operator=(const LanePoint&) = delete;
  bool done();  // never waits
  void wait();
  Watchdog* told() const { return &lane_.tools().context.watchdog; }

 private:
  Lane& lane_;
  cuda::Event at_;
  bool done_ = false;
};

}  // namespace cb::training
