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
                               const CollectiveSize& size, MPI_Comm comm, bool in_place)
    : collective_(collective),
      type_(type),
      reduction_(reduction),
      size_(size),
      comm_(comm),
      in_place_(in_place),
      rank_(rank_in(comm)),
      ranks_(size_of(comm)),
      send_(in_place ? 0 : size.send * element_bytes(type)),
      receive_((in_place ? std::max(size.send, size.receive) : size.receive) *
               element_bytes(type)) {
  if (collective_ != Collective::alltoallv) return;
  const auto self = static_cast<uint64_t>(rank_);
  for (uint64_t to = 0; to < static_cast<uint64_t>(ranks_); ++to) {
    counts_.push_back(static_cast<int>(alltoallv_count(size_.block, self, to)));
    offsets_.push_back(static_cast<int>(offset_of(self, to)));
  }
}

Terms CollectiveCall::terms(uint64_t iteration) const {
  return {type_, reduction_, static_cast<uint64_t>(ranks_), iteration};
}

std::span<std::byte> CollectiveCall::received() {
  return receive_.data().first(size_.receive * element_bytes(type_));
}

uint64_t CollectiveCall::offset_of(uint64_t from, uint64_t to) const {
  uint64_t out = 0;
  for (uint64_t r = 0; r < to; ++r) out += alltoallv_count(size_.block, from, r);
  return out;
}

void CollectiveCall::prepare(uint64_t iteration) {
  const auto self = static_cast<uint64_t>(rank_);
  const auto receive = receive_.data();
  std::memset(receive.data(), static_cast<int>(0x5a ^ (iteration & 0xff)), receive.size());
  const uint64_t width = element_bytes(type_);
  std::span<std::byte> source = send_.data();
  if (in_place_) {
    // MPI takes all_gather's own block from where it will be, the others' data from the beginning.
    const uint64_t first = collective_ == Collective::all_gather ? self * size_.block * width : 0;
    source = receive.subspan(first, size_.send * width);
  }
  if (reduces(collective_))
    fill_terms(terms(iteration), self, source);
  else
    fill_pattern(source, self, iteration, 0);
}

void CollectiveCall::run() {
  const int block = static_cast<int>(size_.block);
  void* const own = send_.data().data();
  void* const send = in_place_ ? MPI_IN_PLACE : own;
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
      return mpi::check(MPI_Bcast(rank_ == 0 ? own : receive, block, type, 0, comm_), "MPI_Bcast");
    case Collective::reduce:
      return mpi::check(MPI_Reduce(own, receive, block, type, operation(reduction_), 0, comm_),
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
          MPI_Sendrecv(own, block, type, (rank_ + 1) % ranks_, 0, receive, block, type,
                       (rank_ + ranks_ - 1) % ranks_, 0, comm_, MPI_STATUS_IGNORE),
          "MPI_Sendrecv");
    case Collective::pingpong:
      return ping_pong();
    case Collective::pair_one_way:
      return send_to_partner();
    case Collective::pair_two_way:
      return exchange_with_partner();
  }
}

void CollectiveCall::all_to_all_uneven() {
  const MPI_Datatype type = datatype(type_);
  mpi::check(MPI_Alltoallv(send_.data().data(), counts_.data(), offsets_.data(), type,
                           receive_.data().data(), counts_.data(), offsets_.data(), type, comm_),
             "MPI_Alltoallv");
}

std::optional<int> CollectiveCall::partner() const {
  const int half = ranks_ / 2;
  if (!is_pairwise(collective_) || rank_ >= 2 * half) return std::nullopt;
  return rank_ < half ? rank_ + half : rank_ - half;
}

bool CollectiveCall::receives() const {
  switch (collective_) {
    case Collective::broadcast:
      return rank_ != 0;
    case Collective::reduce:
    case Collective::gather:
      return rank_ == 0;
    case Collective::pingpong:
    case Collective::pair_two_way:
      return partner().has_value();
    case Collective::pair_one_way:
      return partner().has_value() && !initiates();
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

void CollectiveCall::send_to_partner() {
  const auto other = partner();
  if (!other) return;
  const int count = static_cast<int>(size_.block);
  const MPI_Datatype type = datatype(type_);
  // The receiver answers with nothing, so that the sender's time is that of the arrival.
  if (initiates()) {
    mpi::check(MPI_Send(send_.data().data(), count, type, *other, 0, comm_), "MPI_Send");
    mpi::check(MPI_Recv(nullptr, 0, type, *other, 1, comm_, MPI_STATUS_IGNORE), "MPI_Recv");
  } else {
    mpi::check(MPI_Recv(receive_.data().data(), count, type, *other, 0, comm_, MPI_STATUS_IGNORE),
               "MPI_Recv");
    mpi::check(MPI_Send(nullptr, 0, type, *other, 1, comm_), "MPI_Send");
  }
}

void CollectiveCall::exchange_with_partner() {
  const auto other = partner();
  if (!other) return;
  const int count = static_cast<int>(size_.block);
  const MPI_Datatype type = datatype(type_);
  mpi::check(MPI_Sendrecv(send_.data().data(), count, type, *other, 0, receive_.data().data(),
                          count, type, *other, 0, comm_, MPI_STATUS_IGNORE),
             "MPI_Sendrecv");
}

// alltoallv: the block from rank r lies behind those from the ranks before it, and is the part of
// r's send buffer behind those to the ranks before this one.
std::optional<Mismatch> CollectiveCall::verify_uneven(uint64_t iteration) {
  const uint64_t width = element_bytes(type_);
  const auto self = static_cast<uint64_t>(rank_);
  std::optional<Mismatch> wrong;
  for (uint64_t r = 0; r < static_cast<uint64_t>(ranks_); ++r) {
    const auto at = static_cast<uint64_t>(offsets_[r]);
    const auto block =
        receive_.data().subspan(at * width, static_cast<uint64_t>(counts_[r]) * width);
    auto here = verify_pattern(block, r, iteration, offset_of(r, self) * width, width);
    if (!here) continue;
    here->first += at;
    if (wrong)
      wrong->count += here->count;
    else
      wrong = std::move(here);
  }
  return wrong;
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
  const auto from = [&](uint64_t rank, uint64_t first_byte) {
    return verify_pattern(received(), rank, iteration, first_byte, width);
  };
  switch (collective_) {
    case Collective::all_reduce:
    case Collective::reduce:
      return verify_reduced(terms(iteration), 0, received());
    case Collective::reduce_scatter:
      return verify_reduced(terms(iteration), self * size_.block, received());
    case Collective::all_gather:
    case Collective::gather:
      return verify_blocks(iteration, 0);
    case Collective::alltoall:
      return verify_blocks(iteration, self * size_.block * width);
    case Collective::alltoallv:
      return verify_uneven(iteration);
    case Collective::broadcast:
      return from(0, 0);
    case Collective::scatter:
      return from(0, self * size_.block * width);
    case Collective::sendrecv:
      return from(static_cast<uint64_t>((rank_ + ranks_ - 1) % ranks_), 0);
    case Collective::pingpong:
    case Collective::pair_one_way:
    case Collective::pair_two_way:
      return from(static_cast<uint64_t>(*partner()), 0);
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
      receives() ? received().data() + received().size() / 2 : receive_.data().data() - 1;
  *at ^= std::byte{0x10};
}

}  // namespace cb
