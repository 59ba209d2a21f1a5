#include "bench/collectives/rank_buffers.h"

#include <algorithm>

namespace cb {
namespace {

// Adds the mismatch of one block to that of the blocks before it.
void join(std::optional<Mismatch>& all, std::optional<Mismatch> here, uint64_t first_element) {
  if (!here) return;
  here->first += first_element;
  if (all)
    all->count += here->count;
  else
    all = std::move(here);
}

}  // namespace

RankBuffers::RankBuffers(const RankBuffersSpec& spec, const MakeBuffer& make) : spec_(spec) {
  const CollectiveSize& size = spec.size;
  send_ = make(in_place() ? 0 : size.send * width());
  receive_ = make((in_place() ? std::max(size.send, size.receive) : size.receive) * width());
  if (spec.collective != Collective::alltoallv) return;
  for (uint64_t to = 0; to < static_cast<uint64_t>(spec.ranks); ++to) {
    counts_.push_back(alltoallv_count(size.block, self(), to));
    offsets_.push_back(offset_of(self(), to));
  }
}

Terms RankBuffers::terms(uint64_t iteration) const {
  return {spec_.type, spec_.reduction, static_cast<uint64_t>(spec_.ranks), iteration};
}

uint64_t RankBuffers::offset_of(uint64_t from, uint64_t to) const {
  uint64_t out = 0;
  for (uint64_t r = 0; r < to; ++r) out += alltoallv_count(spec_.size.block, from, r);
  return out;
}

// all_gather has the rank's own block at its final place; other operations have their data at the
// beginning.
uint64_t RankBuffers::source_at() const {
  return spec_.collective == Collective::all_gather ? self() * spec_.size.block * width() : 0;
}

uint64_t RankBuffers::result_at() const {
  const bool at_its_place =
      spec_.in_place == InPlace::nccl && spec_.collective == Collective::reduce_scatter;
  return at_its_place ? self() * spec_.size.block * width() : 0;
}

void RankBuffers::prepare(uint64_t iteration) {
  receive_->set({0, receive_->bytes()}, static_cast<uint8_t>(0x5a ^ (iteration & 0xff)));
  CollectiveBuffer& source = in_place() ? *receive_ : *send_;
  const Extent extent{in_place() ? source_at() : 0, spec_.size.send * width()};
  if (reduces(spec_.collective))
    source.fill_terms(extent, terms(iteration), self());
  else
    source.fill_pattern(extent, self(), iteration, 0);
}

std::optional<int> RankBuffers::partner() const {
  const int half = spec_.ranks / 2;
  if (!is_pairwise(spec_.collective) || spec_.rank >= 2 * half) return std::nullopt;
  return spec_.rank < half ? spec_.rank + half : spec_.rank - half;
}

bool RankBuffers::receives() const {
  switch (spec_.collective) {
    case Collective::broadcast:
      return spec_.rank != 0;
    case Collective::reduce:
    case Collective::gather:
      return spec_.rank == 0;
    case Collective::pingpong:
    case Collective::pair_two_way:
      return partner().has_value();
    case Collective::pair_one_way:
      return partner().has_value() && !initiates();
    default:
      return true;
  }
}

// alltoallv: the block from rank r follows the blocks from lower ranks. In r's send buffer it
// follows the blocks to ranks lower than this one.
std::optional<Mismatch> RankBuffers::verify_uneven(uint64_t iteration) {
  std::optional<Mismatch> wrong;
  for (uint64_t r = 0; r < static_cast<uint64_t>(spec_.ranks); ++r) {
    const Extent block{offsets_[r] * width(), counts_[r] * width()};
    join(wrong,
         receive_->verify_pattern(block, r, iteration, offset_of(r, self()) * width(), width()),
         offsets_[r]);
  }
  return wrong;
}

// Block r of the receive buffer comes from rank r; in r's send buffer it begins at `first_byte`.
std::optional<Mismatch> RankBuffers::verify_blocks(uint64_t iteration, uint64_t first_byte) {
  const uint64_t bytes = spec_.size.block * width();
  std::optional<Mismatch> wrong;
  for (uint64_t r = 0; r < static_cast<uint64_t>(spec_.ranks); ++r)
    join(wrong, receive_->verify_pattern({r * bytes, bytes}, r, iteration, first_byte, width()),
         r * spec_.size.block);
  return wrong;
}

std::optional<Mismatch> RankBuffers::verify_data(uint64_t iteration) {
  const Extent whole{result_at(), spec_.size.receive * width()};
  const uint64_t own_block = self() * spec_.size.block;
  const auto from = [&](int rank, uint64_t first_byte) {
    return receive_->verify_pattern(whole, static_cast<uint64_t>(rank), iteration, first_byte,
                                    width());
  };
  switch (spec_.collective) {
    case Collective::all_reduce:
    case Collective::reduce:
      return receive_->verify_reduced(whole, terms(iteration), 0);
    case Collective::reduce_scatter:
      return receive_->verify_reduced(whole, terms(iteration), own_block);
    case Collective::all_gather:
    case Collective::gather:
      return verify_blocks(iteration, 0);
    case Collective::alltoall:
      return verify_blocks(iteration, own_block * width());
    case Collective::alltoallv:
      return verify_uneven(iteration);
    case Collective::broadcast:
      return from(0, 0);
    case Collective::scatter:
      return from(0, own_block * width());
    case Collective::sendrecv:
      return from((spec_.rank + spec_.ranks - 1) % spec_.ranks, 0);
    case Collective::pingpong:
    case Collective::pair_one_way:
    case Collective::pair_two_way:
      return from(*partner(), 0);
  }
  return std::nullopt;
}

std::optional<Mismatch> RankBuffers::verify(uint64_t iteration) {
  if (!receive_->guards_intact() || !send_->guards_intact())
    return Mismatch{0, 0, said("coll.beside")};
  return receives() ? verify_data(iteration) : std::nullopt;
}

void RankBuffers::corrupt() {
  const auto middle = static_cast<int64_t>(result_at() + spec_.size.receive * width() / 2);
  receive_->flip(receives() ? middle : -1);
}

}  // namespace cb
