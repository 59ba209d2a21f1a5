#include "bench/collectives/clock_offset.h"

#include <algorithm>
#include <limits>

#include "core/clock.h"

namespace cb {
namespace {

constexpr int kTrips = 8;
constexpr int kTag = 7;

// Rank 0's side: answers with its time.
void answer(int rank, MPI_Comm comm) {
  for (int i = 0; i < kTrips; ++i) {
    mpi::check(MPI_Recv(nullptr, 0, MPI_DOUBLE, rank, kTag, comm, MPI_STATUS_IGNORE), "MPI_Recv");
    const double now = monotonic_seconds();
    mpi::check(MPI_Send(&now, 1, MPI_DOUBLE, rank, kTag, comm), "MPI_Send");
  }
}

double ask(MPI_Comm comm) {
  double best = std::numeric_limits<double>::infinity(), offset = 0;
  for (int i = 0; i < kTrips; ++i) {
    const double sent = monotonic_seconds();
    double there = 0;
    mpi::check(MPI_Send(nullptr, 0, MPI_DOUBLE, 0, kTag, comm), "MPI_Send");
    mpi::check(MPI_Recv(&there, 1, MPI_DOUBLE, 0, kTag, comm, MPI_STATUS_IGNORE), "MPI_Recv");
    const double back = monotonic_seconds();
    if (back - sent >= best) continue;
    best = back - sent;
    offset = there - (sent + back) / 2;
  }
  return offset;
}

}  // namespace

double clock_offset(MPI_Comm comm) {
  int rank = 0, size = 1;
  mpi::check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  mpi::check(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  double offset = 0;
  for (int r = 1; r < size; ++r) {
    if (rank == 0) answer(r, comm);
    if (rank == r) offset = ask(comm);
  }
  return offset;
}

}  // namespace cb
