#pragma once

#include <deque>

#include "bench/collectives/group.h"
#include "core/error.h"
#include "sys/mpi/mpi.h"

namespace cb::nccl {

// Another rank has failed: what this one waits for will not come.
class PeerFailed : public Error {
 public:
  PeerFailed();
};

// An abort of NCCL is local: the other ranks go on waiting within their kernels. So a rank that
// fails tells them by MPI, and who waits for NCCL listens. Each rank tells once, at the end of its
// life at the latest: all ranks must have left what they wait for before any one ends this.
class FailureWords {
 public:
  // Every rank of the group makes it, with one tag that no one else uses meanwhile.
  FailureWords(const GroupComm& group, int tag);
  ~FailureWords();  // a second at most
  FailureWords(const FailureWords&) = delete;
  FailureWords& operator=(const FailureWords&) = delete;

  void tell() noexcept;
  // Throws PeerFailed if a rank has told. Asks for the word of one rank: call it again and again.
  void listen();
  // Where the library has told an error, the one that knows why may be about to tell.
  void listen_for(double seconds);

 private:
  // An entry at its address until MPI has done with it.
  std::deque<MPI_Request> sent_, words_;
  MPI_Comm comm_;
  int rank_, ranks_, tag_;
  bool told_ = false;
  size_t next_ = 0;
};

}  // namespace cb::nccl
