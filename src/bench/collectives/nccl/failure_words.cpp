#include "bench/collectives/nccl/failure_words.h"

#include <algorithm>

#include <sched.h>

#include "core/clock.h"

namespace cb::nccl {
namespace {

constexpr double kLastWordSeconds = 1;

bool came(MPI_Request& request) {
  int done = 0;
  return MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done != 0;
}

}  // namespace

PeerFailed::PeerFailed() : Error(cb::said("coll.peer_failed")) {}

FailureWords::FailureWords(const GroupComm& group, int tag)
    : comm_(group.mpi()), rank_(group.rank()), ranks_(group.size()), tag_(tag) {
  for (int from = 0; from < ranks_; ++from) {
    if (from == rank_) continue;
    words_.emplace_back(MPI_REQUEST_NULL);
    mpi::check(MPI_Irecv(nullptr, 0, MPI_BYTE, from, tag_, comm_, &words_.back()), "MPI_Irecv");
  }
}

FailureWords::~FailureWords() {
  tell();
  const double end = monotonic_seconds() + kLastWordSeconds;
  const auto all = [](std::deque<MPI_Request>& some) { return std::ranges::all_of(some, came); };
  while (!(all(words_) && all(sent_)) && monotonic_seconds() < end) ::sched_yield();
}

void FailureWords::tell() noexcept {
  if (told_) return;
  told_ = true;
  for (int to = 0; to < ranks_; ++to) {
    if (to == rank_) continue;
    sent_.emplace_back(MPI_REQUEST_NULL);
    if (MPI_Isend(nullptr, 0, MPI_BYTE, to, tag_, comm_, &sent_.back()) != MPI_SUCCESS)
      sent_.pop_back();
  }
}

void FailureWords::listen() {
  if (words_.empty()) return;
  next_ = (next_ + 1) % words_.size();
  if (came(words_[next_])) throw PeerFailed();
}

void FailureWords::listen_for(double seconds) {
  const double end = monotonic_seconds() + seconds;
  while (monotonic_seconds() < end) {
    listen();
    ::sched_yield();
  }
}

}  // namespace cb::nccl
