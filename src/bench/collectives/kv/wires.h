#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "bench/collectives/kv/nccl_wires.h"
#include "bench/collectives/kv/options.h"
#include "bench/collectives/kv/page_wire.h"
#include "bench/collectives/kv/session.h"

namespace cb::kv {

// What --backend asks for, over all points of a job.
class Wires {
 public:
  // Collective. Throws UsageError, on every rank alike.
  Wires(Context& context, const Params& params, const std::vector<KvPoint>& points,
        const GroupComm& all);

  // Why nothing can be measured; empty if something can.
  const Said& skip() const { return skip_; }
  // Bytes of the largest message that all NICs take.
  uint64_t most_of_message() const { return most_; }
  // After how many seconds a transfer is given up; 0: never by the wire itself.
  double transfer_deadline(const KvPoint& point) const;
  // Collective over all ranks. Throws Error where this end cannot connect; null if another one
  // cannot.
  std::unique_ptr<PageWire> connect(Context& context, const KvPoint& point, MPI_Comm comm,
                                    const Seat& seat) const;
  // Of this rank's pair; nothing if the rate of a NIC is unknown.
  std::optional<Ceiling> ceiling(const Context& context, const KvPoint& point,
                                 const Seat& seat) const;

 private:
  void open_gpus(Context& context, double hang_after);
  std::unique_ptr<PageWire> make(Context& context, const KvPoint& point, const PairEnd& end) const;
  verbs::Spec spec(const KvPoint& point) const;
  uint64_t most_of_ports() const;
  int rail_of(const Context& context, int rank) const;

  Said skip_;
  std::optional<verbs::Setup> verbs_;  // if pages go by RDMA
  std::unique_ptr<NcclWires> nccl_;    // if they go from GPU to GPU
  double margin_seconds_ = 0;          // of a transfer's deadline; 0: there is none
  verbs::Spec common_;
  uint64_t most_ = kMostOfAMessage;
  std::vector<double> host_rates_;  // of each rank's host, for MPI and NCCL; 0: unknown
};

}  // namespace cb::kv
