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
  bool blocking = true;       // as in nccl-tests; libraries before 2.14 only block
  double init_seconds = 120;  // limit for making the communicators
  double wait_seconds = 60;   // limit for everything else
  // Called again and again while devices or the library are waited for; it may throw.
  std::function<void()> meanwhile = {};
};

// This process's communicators of a group's GPUs. Only the end of a group of calls may block; the
// guard's thread then keeps the deadline. settle() keeps it for what is polled. Past the deadline
// the communicators are aborted: their kernels leave the GPUs and the blocked call returns. The
// watchdog then ends the job with what every rank was doing (exit code 124).
class Communicators {
 public:
  // Collective over the group. Every process must have the same number of devices. The unique id
  // goes from the group's first process to the others.
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

  // Calls f(i) for every communicator of this process inside one group of calls; waits until the
  // library has taken them.
  void grouped(const char* what, const std::function<abi::Result(size_t i)>& f);
  // Waits until the devices have done everything that was queued.
  void finish(const char* what);

  // For communicators that work at the same time. Calls f(lane, i) for every communicator i of
  // all[lane] inside one group of calls; settle_taken() waits until the library has taken them.
  static void grouped_together(const std::vector<Communicators*>& all, const char* what,
                               const std::function<abi::Result(size_t lane, size_t i)>& f);
  void settle_taken(const char* what);
  // Past a deadline these are aborted together with this one.
  void abort_too(std::vector<Communicators*> fellows) { fellows_ = std::move(fellows); }
  void mark();                  // of all devices: done() then tells of what was queued before
  bool done(const char* what);  // does not wait; throws Error for the library's errors
  double wait_seconds() const { return wait_seconds_; }
  [[noreturn]] void give_up(const char* what);  // past the deadline
  // Ends what is queued or waits for peers, here and of the fellows, for they or this rank failed.
  // Nothing may use it after.
  void abort() noexcept;
  // The library's own estimate of a group of calls in seconds; nothing if it gives none.
  std::optional<double> estimate(const std::function<abi::Result(size_t i)>& f);

 private:
  void init(const abi::UniqueId& id, const CommOptions& options);
  // Returns the result of f(), which may block. Throws Error if f() passed its deadline.
  abi::Result within(const char* what, double seconds, const std::function<abi::Result()>& f);
  void settle(const char* what, double seconds, const std::function<bool()>& also);
  // Reports what is known of the hang, and aborts. The guard's thread calls it too.
  void release();
  [[noreturn]] void end_here(const char* what, double seconds);
  bool quiet(const char* what) const;  // no call is in progress
  void abort_all() const;
  void forget_all() noexcept;  // that were aborted, those of the fellows too

  const Library& library_;
  Context& context_;
  Devices& devices_;
  double wait_seconds_;
  std::vector<abi::Comm> comms_;
  std::vector<Communicators*> fellows_;
  int first_rank_ = 0;
  int ranks_ = 1;
  bool blocking_;
  std::function<void()> meanwhile_;
  CallGuard guard_;  // last member: its thread uses all the others
};

}  // namespace cb::nccl
