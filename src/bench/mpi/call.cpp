#include "bench/mpi/call.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace cb {
namespace {

constexpr std::byte kGuard{0xd7};

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
      break;
  }
  return MPI_DOUBLE;
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
      break;
  }
  return MPI_MAX;
}

int rank_in(MPI_Comm comm) {
  int rank = 0;
  mpi::check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  return rank;
}

int size_of(MPI_Comm comm) {
  int size = 0;
  mpi::check(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  return size;
}

}  // namespace

void GuardedBuffer::Free::operator()(std::byte* p) const { std::free(p); }

GuardedBuffer::GuardedBuffer(size_t bytes) : bytes_(bytes) {
  constexpr size_t page = 4096;
  const size_t whole = (bytes + 2 * kGuardBytes + page - 1) / page * page;
  memory_.reset(static_cast<std::byte*>(std::aligned_alloc(page, whole)));
  if (memory_ == nullptr) throw std::bad_alloc();
  // Touches every page, so that the first timed call does not.
  std::fill_n(memory_.get(), whole, kGuard);
}

bool GuardedBuffer::guards_intact() const {
  const auto intact = [](const std::byte* from) {
    return std::all_of(from, from + kGuardBytes, [](std::byte b) { return b == kGuard; });
  };
  return intact(memory_.get()) && intact(memory_.get() + kGuardBytes + bytes_);
}

CollectiveCall::CollectiveCall(Collective collective, ElementType type, Reduction reduction,
                               const CollectiveSize& size, MPI_Comm comm)
    : collective_(collective),
      type_(type),
      reduction_(reduction),
      size_(size),
      comm_(comm),
      rank_(rank_in(comm)),
      ranks_(size_of(comm)),
      send_(size.send * element_bytes(type)),
      receive_(size.receive * element_bytes(type)) {}

Terms CollectiveCall::terms(uint64_t iteration) const {
  return {type_, reduction_, static_cast<uint64_t>(ranks_), iteration};
}

void CollectiveCall::prepare(uint64_t iteration) {
  const auto self = static_cast<uint64_t>(rank_);
  if (reduces(collective_))
    fill_terms(terms(iteration), self, send_.data());
  else
    fill_pattern(send_.data(), self, iteration, 0);
  const auto receive = receive_.data();
  std::memset(receive.data(), static_cast<int>(0x5a ^ (iteration & 0xff)), receive.size());
}

void CollectiveCall::run() {
  const int block = static_cast<int>(size_.block);
  void* const send = send_.data().data();
  void* const receive = receive_.data().data();
  const MPI_Datatype type = datatype(type_);
  switch (collective_) {
    case Collective::all_reduce:
      return mpi::check(MPI_Allreduce(send, receive, block, type, operation(reduction_), comm_),
                        "MPI_Allreduce");
    case Collective::all_gather:
      return mpi::check(MPI_Allgather(send, block, type, receive, block, type, comm_),
                        "MPI_Allgather");
    case Collective::reduce_scatter:
      return mpi::check(
          MPI_Reduce_scatter_block(send, receive, block, type, operation(reduction_), comm_),
          "MPI_Reduce_scatter_block");
    case Collective::alltoall:
      return mpi::check(MPI_Alltoall(send, block, type, receive, block, type, comm_),
                        "MPI_Alltoall");
    case Collective::broadcast:
      return mpi::check(MPI_Bcast(rank_ == 0 ? send : receive, block, type, 0, comm_), "MPI_Bcast");
    case Collective::reduce:
      return mpi::check(MPI_Reduce(send, receive, block, type, operation(reduction_), 0, comm_),
                        "MPI_Reduce");
    case Collective::sendrecv:
      return mpi::check(
          MPI_Sendrecv(send, block, type, (rank_ + 1) % ranks_, 0, receive, block, type,
                       (rank_ + ranks_ - 1) % ranks_, 0, comm_, MPI_STATUS_IGNORE),
          "MPI_Sendrecv");
    case Collective::pingpong:
      return ping_pong();
  }
}

std::optional<int> CollectiveCall::partner() const {
  const int half = ranks_ / 2;
  if (collective_ != Collective::pingpong || rank_ >= 2 * half) return std::nullopt;
  return rank_ < half ? rank_ + half : rank_ - half;
}

bool CollectiveCall::receives() const {
  switch (collective_) {
    case Collective::broadcast:
      return rank_ != 0;
    case Collective::reduce:
      return rank_ == 0;
    case Collective::pingpong:
      return partner().has_value();
    default:
      return true;
  }
}

// Both send data of their own, so that both directions are checked.
void CollectiveCall::ping_pong() {
  const auto other = partner();
  if (!other) return;
  const int count = static_cast<int>(size_.block);
  const MPI_Datatype type = datatype(type_);
  const auto send = [&] {
    mpi::check(MPI_Send(send_.data().data(), count, type, *other, 0, comm_), "MPI_Send");
  };
  const auto receive = [&] {
    mpi::check(MPI_Recv(receive_.data().data(), count, type, *other, 0, comm_, MPI_STATUS_IGNORE),
               "MPI_Recv");
  };
  if (initiates()) {
    send();
    receive();
  } else {
    receive();
    send();
  }
}

// Block r of the receive buffer comes from rank r, from `first_byte` of its send buffer on.
std::optional<Mismatch> CollectiveCall::verify_blocks(uint64_t iteration, uint64_t first_byte) {
  const uint64_t width = element_bytes(type_);
  std::optional<Mismatch> wrong;
  for (uint64_t r = 0; r < static_cast<uint64_t>(ranks_); ++r) {
    const auto block = receive_.data().subspan(r * size_.block * width, size_.block * width);
    auto here = verify_pattern(block, r, iteration, first_byte, width);
    if (!here) continue;
    here->first += r * size_.block;
    if (wrong)
      wrong->count += here->count;
    else
      wrong = std::move(here);
  }
  return wrong;
}

std::optional<Mismatch> CollectiveCall::verify_data(uint64_t iteration) {
  const uint64_t width = element_bytes(type_);
  const auto self = static_cast<uint64_t>(rank_);
  const auto from = [&](uint64_t rank) {
    return verify_pattern(receive_.data(), rank, iteration, 0, width);
  };
  switch (collective_) {
    case Collective::all_reduce:
    case Collective::reduce:
      return verify_reduced(terms(iteration), 0, receive_.data());
    case Collective::reduce_scatter:
      return verify_reduced(terms(iteration), self * size_.block, receive_.data());
    case Collective::all_gather:
      return verify_blocks(iteration, 0);
    case Collective::alltoall:
      return verify_blocks(iteration, self * size_.block * width);
    case Collective::broadcast:
      return from(0);
    case Collective::sendrecv:
      return from(static_cast<uint64_t>((rank_ + ranks_ - 1) % ranks_));
    case Collective::pingpong:
      return from(static_cast<uint64_t>(*partner()));
  }
  return std::nullopt;
}

std::optional<Mismatch> CollectiveCall::verify(uint64_t iteration) {
  if (!receive_.guards_intact() || !send_.guards_intact())
    return Mismatch{0, 0, "memory beside the buffer was overwritten"};
  return receives() ? verify_data(iteration) : std::nullopt;
}

void CollectiveCall::corrupt() {
  std::byte* const at =
      receives() ? receive_.data().data() + receive_.data().size() / 2 : receive_.data().data() - 1;
  *at ^= std::byte{0x10};
}

}  // namespace cb
