#include "bench/storage/io/offsets.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace cb::io {
namespace {

uint64_t part_begin(const Job& job, unsigned thread) {
  return job.blocks() / job.threads * thread +
         std::min<uint64_t>(thread, job.blocks() % job.threads);
}

}  // namespace

Permutation::Permutation(uint64_t count, uint64_t seed) : count_(count) {
  const int bits = std::max(2, static_cast<int>(std::bit_width(count - 1)));
  shift_ = static_cast<unsigned>(bits / 2);
  mask_ = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  for (uint64_t& key : key_) key = seed = mix64(seed);
}

uint64_t Permutation::scramble(uint64_t x) const {
  for (const uint64_t key : key_) {
    x = (x + (key >> 32)) & mask_;
    x = (x * (key | 1)) & mask_;
    x ^= x >> shift_;
  }
  return x;
}

uint64_t Permutation::operator()(uint64_t index) const {
  do {
    index = scramble(index);
  } while (index >= count_);
  return index;
}

Zipf::Zipf(uint64_t count, double theta) : count_(count), theta_(theta) {
  const double n = static_cast<double>(count) + 1;
  whole_ = theta_ == 1 ? std::log(n) : (std::pow(n, 1 - theta_) - 1) / (1 - theta_);
}

uint64_t Zipf::operator()(double uniform) const {
  const double area = uniform * whole_;
  const double x =
      theta_ == 1 ? std::exp(area) : std::pow(1 + area * (1 - theta_), 1 / (1 - theta_));
  return std::min(static_cast<uint64_t>(std::max(x, 1.0)) - 1, count_ - 1);
}

OpSource::OpSource(const Job& job, unsigned thread)
    : job_(job),
      first_(part_begin(job, thread)),
      blocks_(part_begin(job, thread + 1) - first_),
      thread_seed_(mix64(job.seed ^ mix64(thread))),
      order_(blocks_, thread_seed_),
      zipf_(blocks_, job.zipf_theta) {}

uint64_t OpSource::block_of(uint64_t index) {
  if (job_.order == Order::sequential) return first_ + index;
  if (job_.order == Order::random) return first_ + order_(index);
  const double uniform = static_cast<double>(mix64(~thread_seed_ + issued_) >> 11) * 0x1p-53;
  return first_ + order_(zipf_(uniform));
}

Direction OpSource::choose() {
  if (!job_.writes()) return Direction::read;
  if (!job_.reads()) return Direction::write;
  const uint64_t dice = mix64(thread_seed_ + issued_) % 100;
  return dice < static_cast<uint64_t>(job_.read_percent) ? Direction::read : Direction::write;
}

std::optional<Op> OpSource::next() {
  if (index_ == blocks_) {
    if (!job_.seconds || blocks_ == 0) return std::nullopt;
    index_ = 0;
    // A zipf run keeps its order, so that its hot blocks stay where they are.
    if (job_.order == Order::random) order_ = Permutation(blocks_, thread_seed_ + ++pass_);
  }
  const uint64_t offset = block_of(index_) * job_.block_bytes;
  const Op op{choose(), job_.first_byte + offset,
              static_cast<uint32_t>(std::min(job_.block_bytes, job_.file_bytes - offset))};
  ++index_;
  ++issued_;
  return op;
}

}  // namespace cb::io
