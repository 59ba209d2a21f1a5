#pragma once

#include <vector>

#include "bench/collectives/kv/page_wire.h"
#include "core/clock.h"

namespace cb::kv {

inline bool is_complete(MPI_Request& request) {
  int done = 0;
  mpi::check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
  return done != 0;
}

// The acknowledgements of the layers that the sender gets, in their order: empty messages of MPI.
class LayerAcks {
 public:
  LayerAcks(const PairEnd& end, size_t layers, int tag) : end_(end), requests_(layers) {
    for (MPI_Request& request : requests_)
      mpi::check(MPI_Irecv(nullptr, 0, MPI_BYTE, end.peer, tag, end.comm, &request), "MPI_Irecv");
  }
  void start() { start_ = monotonic_seconds(); }
  size_t came() const { return seconds_.size(); }
  bool all() const { return came() == requests_.size(); }
  bool poll() {
    if (all() || !is_complete(requests_[came()])) return false;
    seconds_.push_back(monotonic_seconds() - start_);
    end_.moved();
    return true;
  }
  std::vector<double> seconds() && { return std::move(seconds_); }

 private:
  const PairEnd& end_;
  std::vector<MPI_Request> requests_;
  std::vector<double> seconds_;
  double start_ = 0;
};

}  // namespace cb::kv
