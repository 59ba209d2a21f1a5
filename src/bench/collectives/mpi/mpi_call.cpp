#include "bench/collectives/mpi/mpi_call.h"

#include <algorithm>

#include <sched.h>

#include "core/clock.h"

namespace cb {
namespace {

MPI_Datatype datatype(ElementType type) {
  switch (type) {
    case ElementType::int8:
      return MPI_INT8_T;
    case ElementType::uint8:
      return MPI_UINT8_T;
    case ElementType::int32:
      return MPI_INT32_T;
    case ElementType::uint32:
      return MPI_UINT32_T;
    case ElementType::int64:
      return MPI_INT64_T;
    case ElementType::uint64:
      return MPI_UINT64_T;
    case ElementType::float32:
      return MPI_FLOAT;
    case ElementType::float64:
      return MPI_DOUBLE;
    default:
      break;  // only NCCL has halves and smaller types
  }
  throw Error("MPI has no such element type");
}

MPI_Op operation(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum:
      return MPI_SUM;
    case Reduction::prod:
      return MPI_PROD;
    case Reduction::min:
      return MPI_MIN;
    case Reduction::max:
      return MPI_MAX;
    default:
      break;  // only NCCL has the others
  }
  throw Error("MPI has no such reduction");
}

std::vector<int> as_ints(const std::vector<uint64_t>& values) {
  std::vector<int> out;
  for (const uint64_t v : values) out.push_back(static_cast<int>(v));
  return out;
}

}  // namespace

MpiCall::MpiCall(const RankBuffersSpec& spec, MPI_Comm comm)
    : buffers_(spec, host_buffer),
      arguments_{.own = buffers_.send(),
                 .send = spec.in_place == InPlace::no ? buffers_.send() : MPI_IN_PLACE,
                 .receive = buffers_.receive(),
                 .block = static_cast<int>(spec.size.block),
                 .type = datatype(spec.type),
                 .operation = operation(spec.reduction),
                 .comm = comm},
      partner_(buffers_.partner()),
      initiates_(buffers_.initiates()),
      counts_(as_ints(buffers_.counts())),
      offsets_(as_ints(buffers_.offsets())) {}

void MpiCall::run() {
  const RankBuffersSpec& spec = buffers_.spec();
  const auto [own, send, receive, block, type, operation, comm] = arguments_;
  switch (spec.collective) {
    case Collective::all_reduce:
      return mpi::check(MPI_Allreduce(send, receive, block, type, operation, comm),
                        "MPI_Allreduce");
    case Collective::all_gather:
      return mpi::check(MPI_Allgather(send, block, type, receive, block, type, comm),
                        "MPI_Allgather");
    case Collective::reduce_scatter:
      return mpi::check(MPI_Reduce_scatter_block(send, receive, block, type, operation, comm),
                        "MPI_Reduce_scatter_block");
    case Collective::alltoall:
      return mpi::check(MPI_Alltoall(send, block, type, receive, block, type, comm),
                        "MPI_Alltoall");
    case Collective::broadcast:
      return mpi::check(MPI_Bcast(spec.rank == 0 ? own : receive, block, type, 0, comm),
                        "MPI_Bcast");
    case Collective::reduce:
      return mpi::check(MPI_Reduce(own, receive, block, type, operation, 0, comm), "MPI_Reduce");
    case Collective::gather:
      return mpi::check(MPI_Gather(own, block, type, receive, block, type, 0, comm), "MPI_Gather");
    case Collective::scatter:
      return mpi::check(MPI_Scatter(own, block, type, receive, block, type, 0, comm),
                        "MPI_Scatter");
    case Collective::alltoallv:
      return all_to_all_uneven();
    case Collective::sendrecv:
      return mpi::check(
          MPI_Sendrecv(own, block, type, (spec.rank + 1) % spec.ranks, 0, receive, block, type,
                       (spec.rank + spec.ranks - 1) % spec.ranks, 0, comm, MPI_STATUS_IGNORE),
          "MPI_Sendrecv");
    case Collective::pingpong:
      return ping_pong();
    case Collective::pair_one_way:
      return send_to_partner();
    case Collective::pair_two_way:
      return exchange_with_partner();
  }
}

void MpiCall::all_to_all_uneven() {
  const Arguments& a = arguments_;
  mpi::check(MPI_Alltoallv(a.own, counts_.data(), offsets_.data(), a.type, a.receive,
                           counts_.data(), offsets_.data(), a.type, a.comm),
             "MPI_Alltoallv");
}

void MpiCall::send(const void* from, int count, int tag) {
  mpi::check(MPI_Send(from, count, arguments_.type, *partner_, tag, arguments_.comm), "MPI_Send");
}

void MpiCall::receive(void* to, int count, int tag) {
  mpi::check(
      MPI_Recv(to, count, arguments_.type, *partner_, tag, arguments_.comm, MPI_STATUS_IGNORE),
      "MPI_Recv");
}

// Each end sends its own data, so that both directions are checked.
void MpiCall::ping_pong() {
  if (!partner_) return;
  if (initiates_) send(arguments_.own, arguments_.block, 0);
  receive(arguments_.receive, arguments_.block, 0);
  if (!initiates_) send(arguments_.own, arguments_.block, 0);
}

void MpiCall::send_to_partner() {
  if (!partner_) return;
  // The receiver answers with an empty message, so that the sender's time ends after the arrival.
  if (initiates_) {
    send(arguments_.own, arguments_.block, 0);
    receive(nullptr, 0, 1);
  } else {
    receive(arguments_.receive, arguments_.block, 0);
    send(nullptr, 0, 1);
  }
}

void MpiCall::exchange_with_partner() {
  if (!partner_) return;
  const Arguments& a = arguments_;
  mpi::check(MPI_Sendrecv(a.own, a.block, a.type, *partner_, 0, a.receive, a.block, a.type,
                          *partner_, 0, a.comm, MPI_STATUS_IGNORE),
             "MPI_Sendrecv");
}

void MpiCall::start(std::vector<MPI_Request>& requests) {
  const RankBuffersSpec& spec = buffers_.spec();
  const auto [own, send, receive, block, type, operation, comm] = arguments_;
  MPI_Request* const request = &requests.emplace_back(MPI_REQUEST_NULL);
  const int next = (spec.rank + 1) % spec.ranks, before = (spec.rank + spec.ranks - 1) % spec.ranks;
  switch (spec.collective) {
    case Collective::all_reduce:
      return mpi::check(MPI_Iallreduce(send, receive, block, type, operation, comm, request),
                        "MPI_Iallreduce");
    case Collective::all_gather:
      return mpi::check(MPI_Iallgather(send, block, type, receive, block, type, comm, request),
                        "MPI_Iallgather");
    case Collective::reduce_scatter:
      return mpi::check(
          MPI_Ireduce_scatter_block(send, receive, block, type, operation, comm, request),
          "MPI_Ireduce_scatter_block");
    case Collective::alltoall:
      return mpi::check(MPI_Ialltoall(send, block, type, receive, block, type, comm, request),
                        "MPI_Ialltoall");
    case Collective::broadcast:
      return mpi::check(MPI_Ibcast(spec.rank == 0 ? own : receive, block, type, 0, comm, request),
                        "MPI_Ibcast");
    case Collective::reduce:
      return mpi::check(MPI_Ireduce(own, receive, block, type, operation, 0, comm, request),
                        "MPI_Ireduce");
    case Collective::gather:
      return mpi::check(MPI_Igather(own, block, type, receive, block, type, 0, comm, request),
                        "MPI_Igather");
    case Collective::scatter:
      return mpi::check(MPI_Iscatter(own, block, type, receive, block, type, 0, comm, request),
                        "MPI_Iscatter");
    case Collective::alltoallv:
      return mpi::check(MPI_Ialltoallv(own, counts_.data(), offsets_.data(), type, receive,
                                       counts_.data(), offsets_.data(), type, comm, request),
                        "MPI_Ialltoallv");
    case Collective::sendrecv:
      mpi::check(MPI_Irecv(receive, block, type, before, 0, comm, request), "MPI_Irecv");
      return mpi::check(
          MPI_Isend(own, block, type, next, 0, comm, &requests.emplace_back(MPI_REQUEST_NULL)),
          "MPI_Isend");
    case Collective::pingpong:
    case Collective::pair_one_way:
    case Collective::pair_two_way:
      break;
  }
  throw Error("a pairwise operation runs alone");
}

namespace {

// True once every request is done. Asking moves the library on.
bool all_done(std::vector<MPI_Request>& requests) {
  bool all = true;
  for (MPI_Request& request : requests) {
    if (request == MPI_REQUEST_NULL) continue;
    int done = 0;
    mpi::check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done != 0) request = MPI_REQUEST_NULL;
    all = all && done != 0;
  }
  return all;
}

}  // namespace

double run_together(std::span<MpiCall* const> calls, std::span<double> seconds) {
  const double begun = monotonic_seconds();
  std::vector<std::vector<MPI_Request>> open(calls.size());
  for (size_t i = 0; i < calls.size(); ++i) calls[i]->start(open[i]);
  std::fill(seconds.begin(), seconds.end(), 0);
  for (size_t left = calls.size(); left > 0;) {
    for (size_t i = 0; i < calls.size(); ++i) {
      if (seconds[i] > 0 || !all_done(open[i])) continue;
      seconds[i] = std::max(1e-9, monotonic_seconds() - begun);
      --left;
    }
    // A rank that waits leaves its processor to what it waits for.
    if (left > 0 && monotonic_seconds() - begun > 1e-3) sched_yield();
  }
  return begun;
}

}  // namespace cb
