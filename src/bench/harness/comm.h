#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace cb {

class Watchdog;

// A reduction that goes on while its caller does something else.
class PendingMax {
 public:
  virtual ~PendingMax() = default;
  // The largest value over the ranks, once each has brought its own; nothing until then. Never
  // waits; it is the asking that moves it on.
  virtual std::optional<double> result() = 0;
};

// What the cases need of a group of processes. Every call is collective: all ranks make it, in the
// same order. Two implementations: one process alone, and MPI.
class Comm {
 public:
  virtual ~Comm() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual void barrier() = 0;
  virtual double max(double value) = 0;  // over all ranks, on all ranks
  virtual double min(double value) = 0;
  // As max(), without waiting. One at a time, and no other call before its result is there.
  virtual std::unique_ptr<PendingMax> start_max(double value) = 0;
  virtual double sum(double value) = 0;
  virtual void broadcast(std::span<std::byte> bytes, int root) = 0;
  // One blob of any length from every rank: on rank 0 indexed by rank, elsewhere empty.
  // Three collectives, linear in the total length. Throws Error on all ranks beyond 2 GiB in all.
  virtual std::vector<std::string> gather(std::string_view blob) = 0;
  // The same blob for all: rank 0's.
  virtual std::string broadcast_text(std::string text) = 0;

  // Agreement between records: the largest status over the ranks. Throws Error
  // (deadline) after `deadline_seconds` if some rank does not come, so that nobody waits for ever.
  virtual int agree(int status, double deadline_seconds) = 0;

  // Who is told that this rank waits in a call, or null; parts of the group tell it too.
  Watchdog* told() const { return told_; }
  void tell(Watchdog* watchdog) { told_ = watchdog; }

  bool any(bool value) { return max(value ? 1 : 0) > 0; }
  bool is_root() const { return rank() == 0; }

 private:
  Watchdog* told_ = nullptr;
};

// For its life the watchdog is told when this rank waits in a call of `comm`.
class TellsWaits {
 public:
  TellsWaits(Comm& comm, Watchdog& watchdog) : comm_(comm) { comm.tell(&watchdog); }
  ~TellsWaits() { comm_.tell(nullptr); }
  TellsWaits(const TellsWaits&) = delete;
  TellsWaits& operator=(const TellsWaits&) = delete;

 private:
  Comm& comm_;
};

// Where the ranks are.
struct RankMap {
  std::string host;                // of this rank
  std::vector<std::string> hosts;  // distinct hosts by first rank
  std::vector<int> host_of_rank;   // index into hosts
  int local_rank = 0;              // among the ranks of the same host
  int local_size = 1;

  bool first_on_host() const { return local_rank == 0; }
};

// Collective. Every rank gets the whole map. O(ranks) data in all per host of the tree, no pairwise
// exchange.
RankMap locate_ranks(Comm& comm, const std::string& hostname);

// Collective. Throws the same UsageError on every rank if any rank has a problem: each distinct one
// is listed once, so that "fits on rank 0" never leaves rank 7 behind.
void throw_agreed(Comm& comm, const std::string& subject, const Problems& mine);

// Throws Error on every rank if `failure` is not empty on one, so that no rank waits for that one
// in the next collective. Collective.
void throw_where_failed(Comm& comm, const Said& failure);

std::unique_ptr<Comm> single_comm();
// MPI_COMM_WORLD; MPI must be initialised.
std::unique_ptr<Comm> world_comm();

}  // namespace cb
