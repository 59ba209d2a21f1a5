#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/collectives/group.h"
#include "bench/collectives/moe/expert_exchange.h"
#include "bench/collectives/moe/options.h"

namespace cb::moe {

// A series of one part, over the timed iterations.
struct PartTimes {
  std::vector<double> own;               // seconds of this rank
  std::vector<double> slowest, fastest;  // of all ranks
};

// What was measured on this rank.
struct Exchanged {
  PartTimes dispatch, dispatch_rows, combine, combine_rows;
  // Seconds after the first rank that this one began to exchange counts, and that it had packed.
  std::vector<double> late_counts, late;
  int verified = 0;  // calls of dispatch, and calls of combine, of which all was looked at
  std::optional<Wrong> wrong_dispatch, wrong_combine;
  Said wrong_digest;
  bool looked_at_combine = false;
  bool looked_at_digest = false;
  bool measured = false;  // the same on all ranks: nothing was wrong anywhere
  uint64_t digest = 0;    // of the first data
};

// Verifies, times and verifies again. Wrong data on any rank ends it on all ranks after the same
// step.
class MoeSession {
 public:
  MoeSession(Context& context, const MoePoint& point, const GroupComm& group,
             ExpertExchange& exchange);
  // Collective. Throws Interrupted.
  Exchanged run();

 private:
  void check(const std::string& id, int number, uint64_t data);
  void sample();
  double cycle(const Said* verified, Spans* spans);
  double timed(size_t part, const std::function<void()>& call);
  void verify_dispatch(const Said& call);
  void verify_combine(const Said& call);
  void meet(bool wrong);
  bool spoils(FaultKind kind) const;
  void look_at_digest();
  void compare_ranks();

  Context& context_;
  const MoePoint& point_;
  const GroupComm& group_;
  ExpertExchange& exchange_;
  Exchanged out_;
  uint64_t iteration_ = 0;
  bool warm_ = false;  // cycles are timed now
  uint64_t timed_ = 0;
};

}  // namespace cb::moe
