// The links between neighbouring hosts, each at its own rate: an exchange of gradients shows only
// the slowest of them. Timed by the receiver; the fastest of several counts, because what disturbs
// a host for a while is no slow link.
#include "bench/training/link_probe.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>

#include "bench/harness/comm_mpi.h"
#include "bench/harness/watchdog.h"
#include "core/clock.h"

namespace cb::training {
namespace {

using mpi::check;

constexpr int kElements = 1 << 20;
constexpr double kBytes = 4.0 * kElements;
constexpr int kTurns = 5;
constexpr int kMostMessages = 64;
constexpr double kTurnSeconds = 0.05;

struct Buffers {
  std::vector<float> out = std::vector<float>(kElements, 1), in = std::vector<float>(kElements);
};

bool link_done(MPI_Request& request) {
  int done = 0;
  check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
  return done != 0;
}

// Seconds until `from` has delivered so many messages, while as many go to `to`.
double exchange_with(MPI_Comm comm, int to, int from, int messages, Buffers& buffers) {
  check(MPI_Barrier(comm), "MPI_Barrier");
  const double start = monotonic_seconds();
  double received = 0;
  for (int i = 0; i < messages; ++i) {
    MPI_Request in = MPI_REQUEST_NULL, out = MPI_REQUEST_NULL;
    check(MPI_Irecv(buffers.in.data(), kElements, MPI_FLOAT, from, 0, comm, &in), "MPI_Irecv");
    check(MPI_Isend(buffers.out.data(), kElements, MPI_FLOAT, to, 0, comm, &out), "MPI_Isend");
    for (bool taken = false, sent = false; !taken || !sent;) {  // the watchdog ends what hangs
      if (!taken && (taken = link_done(in))) received = monotonic_seconds() - start;
      sent = sent || link_done(out);
      std::this_thread::yield();
    }
  }
  return received;
}

// As many messages as take long beside the turns of an operating system: the same on all hosts.
int messages_of_turn(MPI_Comm comm, int next, int previous, Buffers& buffers) {
  int messages = 1;
  for (; messages < kMostMessages; messages *= 4) {
    double longest = exchange_with(comm, next, previous, messages, buffers);
    check(MPI_Allreduce(MPI_IN_PLACE, &longest, 1, MPI_DOUBLE, MPI_MAX, comm), "MPI_Allreduce");
    if (longest >= kTurnSeconds) break;
  }
  return messages;
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
  Buffers buffers;
  const int messages = messages_of_turn(comm, next, previous, buffers);
  const auto rate = [&](int to, int from) {
    const double seconds = exchange_with(comm, to, from, messages, buffers);
    moved();
    return kBytes * messages / seconds;
  };
  Incoming best;
  for (int turn = 0; turn < kTurns; ++turn) {
    best.from_previous = std::max(best.from_previous, rate(next, previous));
    best.from_next = std::max(best.from_next, rate(previous, next));
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
  const Watchdog::Waiting waiting(comm.told());
  std::string mine;
  {
    const mpi::Communicator some = mpi_part_of(comm, map.first_on_host() ? 0 : 1, comm.rank());
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
