#include "bench/collectives/mpi/mpi_call.h"

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
      comm_(comm),
      type_(datatype(spec.type)),
      counts_(as_ints(buffers_.counts())),
      offsets_(as_ints(buffers_.offsets())) {}

void MpiCall::run() {
  const RankBuffersSpec& spec = buffers_.spec();
  const int block = static_cast<int>(spec.size.block);
  void* const own = buffers_.send();
  void* const send = spec.in_place == InPlace::no ? own : MPI_IN_PLACE;
  void* const receive = buffers_.receive();
  const MPI_Datatype type = type_;
  switch (spec.collective) {
    case Collective::all_reduce:
      return mpi::check(MPI_Allreduce(send, receive, block, type, operation(spec.reduction), comm_),
                        "MPI_Allreduce");
    case Collective::all_gather:
      return mpi::check(MPI_Allgather(send, block, type, receive, block, type, comm_),
                        "MPI_Allgather");
    case Collective::reduce_scatter:
      return mpi::check(
          MPI_Reduce_scatter_block(send, receive, block, type, operation(spec.reduction), comm_),
          "MPI_Reduce_scatter_block");
    case Collective::alltoall:
      return mpi::check(MPI_Alltoall(send, block, type, receive, block, type, comm_),
                        "MPI_Alltoall");
    case Collective::broadcast:
      return mpi::check(MPI_Bcast(spec.rank == 0 ? own : receive, block, type, 0, comm_),
                        "MPI_Bcast");
    case Collective::reduce:
      return mpi::check(MPI_Reduce(own, receive, block, type, operation(spec.reduction), 0, comm_),
                        "MPI_Reduce");
    case Collective::gather:
      return mpi::check(MPI_Gather(own, block, type, receive, block, type, 0, comm_), "MPI_Gather");
    case Collective::scatter:
      return mpi::check(MPI_Scatter(own, block, type, receive, block, type, 0, comm_),
                        "MPI_Scatter");
    case Collective::alltoallv:
      return all_to_all_uneven();
    case Collective::sendrecv:
      return mpi::check(
          MPI_Sendrecv(own, block, type, (spec.rank + 1) % spec.ranks, 0, receive, block, type,
                       (spec.rank + spec.ranks - 1) % spec.ranks, 0, comm_, MPI_STATUS_IGNORE),
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
  mpi::check(MPI_Alltoallv(buffers_.send(), counts_.data(), offsets_.data(), type_,
                           buffers_.receive(), counts_.data(), offsets_.data(), type_, comm_),
             "MPI_Alltoallv");
}

// Each end sends its own data, so that both directions are checked.
void MpiCall::ping_pong() {
  const auto other = buffers_.partner();
  if (!other) return;
  const int count = static_cast<int>(buffers_.spec().size.block);
  const auto send = [&] {
    mpi::check(MPI_Send(buffers_.send(), count, type_, *other, 0, comm_), "MPI_Send");
  };
  const auto receive = [&] {
    mpi::check(MPI_Recv(buffers_.receive(), count, type_, *other, 0, comm_, MPI_STATUS_IGNORE),
               "MPI_Recv");
  };
  if (buffers_.initiates()) {
    send();
    receive();
  } else {
    receive();
    send();
  }
}

void MpiCall::send_to_partner() {
  const auto other = buffers_.partner();
  if (!other) return;
  const int count = static_cast<int>(buffers_.spec().size.block);
  // The receiver answers with an empty message, so that the sender's time ends after the arrival.
  if (buffers_.initiates()) {
    mpi::check(MPI_Send(buffers_.send(), count, type_, *other, 0, comm_), "MPI_Send");
    mpi::check(MPI_Recv(nullptr, 0, type_, *other, 1, comm_, MPI_STATUS_IGNORE), "MPI_Recv");
  } else {
    mpi::check(MPI_Recv(buffers_.receive(), count, type_, *other, 0, comm_, MPI_STATUS_IGNORE),
               "MPI_Recv");
    mpi::check(MPI_Send(nullptr, 0, type_, *other, 1, comm_), "MPI_Send");
  }
}

void MpiCall::exchange_with_partner() {
  const auto other = buffers_.partner();
  if (!other) return;
  const int count = static_cast<int>(buffers_.spec().size.block);
  mpi::check(MPI_Sendrecv(buffers_.send(), count, type_, *other, 0, buffers_.receive(), count,
                          type_, *other, 0, comm_, MPI_STATUS_IGNORE),
             "MPI_Sendrecv");
}

}  // namespace cb
