#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/collectives/group.h"
#include "bench/collectives/nccl/call_guard.h"
#include "bench/collectives/nccl/device.h"

namespace cb::nccl {

struct CommOptions {
  std::optional<int> min_ctas, max_ctas, cta_policy;
  bool blocking = true;       // as nccl-tests has them; a library before 2.14 has no others
  double init_seconds = 120;  // at most, to make the communicators
  double wait_seconds = 60;   // at most, for anything else
};

// The communicators of a group's GPUs, this process's part of them. Only the end of a group of
// calls may block; a thread of its own then has the deadline, as settle() has it for what is
// polled. Where that passes, the communicators are aborted, so that their kernels leave the GPUs
// and the blocked call comes back, and the watchdog ends the job with what every rank was doing
// (exit code 124).
class Communicators {
 public:
  // Collective over the group; every process has equally many devices. The unique id goes from the
  // group's first process to the others.
  Communicators(const Library& library, Context& context, const GroupComm& group, Devices& devices,
                const CommOptions& options);
  ~Communicators();
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;

  const Library& library() const { return library_; }
  Devices& devices() { return devices_; }
  size_t count() const { return comms_.size(); }
  abi::Comm comm(size_t i) const { return comms_[i]; }
  int rank(size_t i) const { return first_rank_ + static_cast<int>(i); }
  int ranks() const { return ranks_; }
  bool blocking() const { return blocking_; }

  // `f(i)` for every communicator of this process inside one group of calls, and waits until the
  // library has taken them.
  void grouped(const char* what, const std::function<abi::Result(size_t i)>& f);
  // Waits until all that was queued is done on the devices.
  void finish(const char* what);
  // The library's own estimate of a group of calls in seconds, nothing where it gives none.
  std::optional<double> estimate(const std::function<abi::Result(size_t i)>& f);

 private:
  void init(const abi::UniqueId& id, const CommOptions& options);
  // What a call that may block gives, unless it has passed its deadline.
  abi::Result within(const char* what, double seconds, const std::function<abi::Result()>& f);
  void settle(const char* what, double seconds, const std::function<bool()>& also);
  // Tells what is known of the hang, and aborts; from the guard's thread too.
  void release();
  [[noreturn]] void end_here(const char* what, double seconds);
  void abort_all() const;

  const Library& library_;
  Context& context_;
  Devices& devices_;
  double wait_seconds_;
  std::vector<abi::Comm> comms_;
  int first_rank_ = 0;
  int ranks_ = 1;
  bool blocking_;
  CallGuard guard_;  // last: its thread uses all of the others
};

}  // namespace cb::nccl
