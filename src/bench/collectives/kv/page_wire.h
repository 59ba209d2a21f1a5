#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/harness/case.h"
#include "bench/network/verbs/setup.h"
#include "model/kv_transfer.h"
#include "sys/mpi/mpi.h"

namespace cb::kv {

// The place of this rank in its pair.
struct PairEnd {
  MPI_Comm comm = MPI_COMM_NULL;
  int peer = -1;
  bool sends = false;
  int window = 32;              // messages in flight
  double deadline_seconds = 0;  // of one transfer; 0: the wire has none of its own
  std::function<void()> moved;  // called as layers go
};

// How pages go to the other end, and the memory in which they lie at this end. The sender's clock
// starts once the receiver has said that it is ready. The receiver acknowledges each layer whose
// pages are all visible to it.
class PageWire {
 public:
  virtual ~PageWire() = default;
  virtual std::span<std::byte> memory() = 0;
  // Where pages lie elsewhere, that is a copy of them: before a transfer it goes there, and behind
  // the transfer it comes from there.
  virtual void load() {}
  virtual void unload() {}
  // Seconds from the first message until each layer's acknowledgement came.
  virtual std::vector<double> send(const TransferPlan& plan) = 0;
  virtual void receive(const TransferPlan& plan) = 0;
  // Whether an end waits for one that has failed until somebody ends the job; else it has a
  // deadline of its own, and says itself what it saw.
  virtual bool waits_for_the_failed() const { return false; }
  // Facts of the record.
  virtual void describe(Record& record) const = 0;
};

// Places of a plan count from the byte `origin` of the memory.
std::unique_ptr<PageWire> make_mpi_wire(const PairEnd& end, uint64_t bytes, uint64_t origin);

// Collective over both ends of the pair, one of which may fail: it throws Error.
std::unique_ptr<PageWire> make_verbs_wire(const PairEnd& end, uint64_t bytes, uint64_t origin,
                                          verbs::DevicePool& pool, const RdmaPort& port,
                                          const verbs::Spec& spec, const CancelToken& cancel);

}  // namespace cb::kv
