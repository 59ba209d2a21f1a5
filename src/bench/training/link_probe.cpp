// The links between neighbouring hosts, each at its own rate: an exchange of gradients shows only
// the slowest of them. Timed by the receiver; the fastest of several counts, because what disturbs
// a host for a while is no slow link.
#include "bench/training/link_probe.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <thread>

#include "core/clock.h"
#include "sys/mpi/mpi.h"

namespace cb::training {
namespace {

using mpi::check;

constexpr int kElements = 1 << 20;
constexpr double kBytes = 4.0 * kElements;
constexpr int kTurns = 5;

bool link_done(MPI_Request& request) {
  int done = 0;
  check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
  return done != 0;
}

// Seconds until `from` has delivered, while as much goes to `to`.
double exchange_with(MPI_Comm comm, int to, int from, std::vector<float>& out,
                     std::vector<float>& in) {
  std::array<MPI_Request, 2> requests = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  check(MPI_Barrier(comm), "MPI_Barrier");
  const double start = monotonic_seconds();
  check(MPI_Irecv(in.data(), kElements, MPI_FLOAT, from, 0, comm, &requests[0]), "MPI_Irecv");
  check(MPI_Isend(out.data(), kElements, MPI_FLOAT, to, 0, comm, &requests[1]), "MPI_Isend");
  double received = 0;
  for (bool taken = false, sent = false; !taken || !sent;) {  // the watchdog ends what hangs
    if (!taken && (taken = link_done(requests[0]))) received = monotonic_seconds() - start;
    sent = sent || link_done(requests[1]);
    std::this_thread::yield();
  }
  return received;
}

// Of this host: what comes from the previous and from the next one, bytes per second.
struct Incoming {
  double from_previous = 0;
  double from_next = 0;
};

Incoming incoming_of(MPI_Comm comm, const std::function<void()>& moved) {
  int rank = 0, size = 1;
  check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  check(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  std::vector<float> out(kElements, 1), in(kElements);
  Incoming best;
  for (int turn = 0; turn < kTurns; ++turn) {
    best.from_previous =
        std::max(best.from_previous, kBytes / exchange_with(comm, next, previous, out, in));
    moved();
    best.from_next =
        std::max(best.from_next, kBytes / exchange_with(comm, previous, next, out, in));
    moved();
  }
  return best;
}

// Rank 0's list of all hosts' incoming links, in the order of the hosts.
std::string joined_links(const std::vector<std::string>& blobs) {
  std::string out;
  for (const std::string& blob : blobs) out += blob;
  return out;
}

}  // namespace

std::vector<HostLinks> probe_links(Comm& comm, const RankMap& map,
                                   const std::function<void()>& moved) {
  const size_t hosts = map.hosts.size();
  if (hosts < 2) return {};
  std::string mine;
  {
    const mpi::Communicator some =
        mpi::Communicator::split_world(map.first_on_host() ? 0 : 1, comm.rank());
    if (map.first_on_host()) {
      const Incoming rates = incoming_of(some.get(), moved);
      mine.assign(reinterpret_cast<const char*>(&rates), sizeof(rates));
    }
  }
  const std::string all = comm.broadcast_text(joined_links(comm.gather(mine)));
  std::vector<double> to_next(hosts), to_previous(hosts);
  for (size_t i = 0; i < hosts; ++i) {
    Incoming rates;
    std::memcpy(&rates, all.data() + i * sizeof(rates), sizeof(rates));
    to_next[(i + hosts - 1) % hosts] = rates.from_previous;
    to_previous[(i + 1) % hosts] = rates.from_next;
  }
  return host_links(to_next, to_previous);
}

}  // namespace cb::training
