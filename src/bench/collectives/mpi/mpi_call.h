#pragma once

#include <span>
#include <vector>

#include "bench/collectives/call.h"
#include "bench/collectives/rank_buffers.h"
#include "sys/mpi/mpi.h"

namespace cb {

// A collective of MPI in host memory.
class MpiCall final : public CollectiveCall {
 public:
  // Rank and ranks of `spec` are those of `comm`.
  MpiCall(const RankBuffersSpec& spec, MPI_Comm comm);

  void prepare(uint64_t iteration) override { buffers_.prepare(iteration); }
  void run() override;
  // Starts the call without waiting: its requests are added. Not for pairwise operations.
  void start(std::vector<MPI_Request>& requests);
  std::optional<Mismatch> verify(uint64_t iteration) override { return buffers_.verify(iteration); }
  void corrupt() override { buffers_.corrupt(); }
  bool initiates() const override { return initiates_; }

 private:
  // Of the collective, known before it is timed.
  struct Arguments {
    void* own;   // what this rank contributes
    void* send;  // the same, or MPI_IN_PLACE
    void* receive;
    int block;  // elements
    MPI_Datatype type;
    MPI_Op operation;
    MPI_Comm comm;
  };

  void send(const void* from, int count, int tag);
  void receive(void* to, int count, int tag);
  void ping_pong();
  void send_to_partner();
  void exchange_with_partner();
  void all_to_all_uneven();

  RankBuffers buffers_;
  Arguments arguments_;
  std::optional<int> partner_;
  bool initiates_;
  std::vector<int> counts_, offsets_;  // used by alltoallv
};

// Starts every call and looks at them in turn until all are done: seconds[i] is when calls[i] was.
// Returns when it began, in seconds of the monotonic clock.
double run_together(std::span<MpiCall* const> calls, std::span<double> seconds);

}  // namespace cb
