#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/collectives/group.h"
#include "bench/collectives/kv/options.h"
#include "bench/collectives/kv/page_data.h"
#include "bench/collectives/kv/page_wire.h"

namespace cb::kv {

// Who this rank transfers with.
struct Seat {
  int pair = 0;
  int pairs = 1;
  HostPair ranks;  // of its pair: from sends to to
  bool sends = false;
  bool idle = false;  // of an odd number of ranks: it only meets the others
  std::string name;   // of the pair, for messages: "n1 rank 0 → n2 rank 4"

  int peer() const { return sends ? ranks.to : ranks.from; }
};

// Both ends' tables of blocks: one seed gives the same to both ends.
struct Tables {
  BlockTable from, to;
};
Tables tables_of(const KvPoint& point, int pair);
TransferPlan plan_of(const KvPoint& point, const Tables& tables);
// Bytes of one end's memory: the pool, staging buffers, and guard zones around both.
uint64_t memory_of_end(const KvPoint& point);
// The longest time in which an end makes or looks at all of its pages.
double patience_of_end(const KvPoint& point);

// What was measured on this rank: times where it sends.
struct Transferred {
  std::vector<double> seconds, first_layer, longest_layer, plain;
  std::vector<double> slowest, fastest;  // of all pairs
  std::vector<double> medians;           // of each pair's seconds
  uint64_t verified = 0;                 // transfers of which all pages were looked at
  std::optional<WrongPages> wrong;
  bool measured = false;  // the same on all ranks: nothing was wrong anywhere
};

// Transfers page by page and as plain messages in turn, and verifies both ends after each. Wrong
// data on any rank ends it on all ranks after the same step.
class KvSession {
 public:
  KvSession(Context& context, const KvPoint& point, const GroupComm& group, const Seat& seat,
            PageWire& wire, const PageData& data);
  // Collective. Throws Interrupted, and Error where a transfer failed at this end.
  Transferred run();

 private:
  double cycle(Spans& spans);
  std::vector<double> transfer(const TransferPlan& plan, const BlockTable& at_receiver,
                               bool spoiled);
  bool any_ended();
  std::vector<double> take_turns(const TransferPlan& plan);
  void meet_for_turn();
  std::vector<double> move(const TransferPlan& plan);
  bool failed() const;
  void on_wire(const std::function<void()>& call);
  void prepare();
  void spoil();
  void verify(const BlockTable& mine);
  void compare_pairs();

  Context& context_;
  const KvPoint& point_;
  const GroupComm& group_;
  const Seat& seat_;
  PageWire& wire_;
  Tables tables_;
  TransferPlan pages_, plain_;
  PagePool pool_;
  Transferred out_;
  uint64_t transfer_ = 0;
  Said failure_;
  bool other_end_failed_ = false;
};

}  // namespace cb::kv
