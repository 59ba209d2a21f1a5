#include "bench/collectives/moe/expert_exchange.h"

#include <algorithm>
#include <cstring>

#include "kernels/hash.h"
#include "model/counter_random.h"

namespace cb::moe {
namespace {

RowBlocks blocks_out(const Routes& routes, size_t row_bytes) {
  RowBlocks out{{}, row_bytes};
  for (int to = 0; to < routes.router.ranks; ++to)
    out.rows.push_back(routes.copies.at(routes.rank, to));
  return out;
}

RowBlocks blocks_in(const Routes& routes, size_t row_bytes) {
  RowBlocks out{{}, row_bytes};
  for (int from = 0; from < routes.router.ranks; ++from)
    out.rows.push_back(routes.copies.at(from, routes.rank));
  return out;
}

uint64_t hash_of(CollectiveBuffer& buffer) {
  return kernels::hash_bytes(reinterpret_cast<const unsigned char*>(buffer.data()),
                             static_cast<size_t>(buffer.bytes()));
}

}  // namespace

ExpertExchange::ExpertExchange(Routes routes, const TokenData& data,
                               std::vector<std::string> who_of_rank)
    : routes_(std::move(routes)),
      data_(data),
      out_(blocks_out(routes_, data.row_bytes())),
      in_(blocks_in(routes_, data.row_bytes())),
      back_out_(blocks_in(routes_, static_cast<size_t>(data.format().combine_payload()))),
      back_in_(blocks_out(routes_, static_cast<size_t>(data.format().combine_payload()))),
      counts_from_(out_.rows.size()),
      who_of_rank_(std::move(who_of_rank)) {
  const auto tokens = static_cast<uint64_t>(routes_.router.tokens);
  tokens_ = host_buffer(tokens * static_cast<uint64_t>(data.format().dispatch_payload()));
  receive_ = host_buffer(in_.bytes());
  results_ = host_buffer(back_out_.bytes());
  sums_ = host_buffer(tokens * static_cast<uint64_t>(data.format().hidden) * sizeof(float));
}

ExpertExchange::~ExpertExchange() = default;

uint64_t ExpertExchange::buffer_bytes(const Routes& routes, const TokenFormat& format) {
  const auto tokens = static_cast<uint64_t>(routes.router.tokens);
  const auto rows = static_cast<uint64_t>(routes.rows_out() + routes.rows_in());
  const int64_t row = format.dispatch_row(routes.router.top_k) + format.combine_payload();
  return tokens * static_cast<uint64_t>(format.dispatch_payload() + format.hidden * 4) +
         rows * static_cast<uint64_t>(row) +
         static_cast<uint64_t>(routes.router.experts * format.hidden);
}

void ExpertExchange::prepare(uint64_t iteration) {
  iteration_ = iteration;
  const auto payload = static_cast<size_t>(data_.format().dispatch_payload());
  for (int64_t t = 0; t < routes_.router.tokens; ++t)
    data_.write_payload({routes_.rank, static_cast<int32_t>(t), iteration},
                        tokens_->data() + static_cast<size_t>(t) * payload);
  poison_rows();
  poison_returned();
  sums_->set({0, sums_->bytes()}, poison_value());
  std::fill(counts_from_.begin(), counts_from_.end(), -1);
}

uint8_t ExpertExchange::poison_value() const {
  return static_cast<uint8_t>(0x5a ^ (iteration_ & 0xff));
}

void ExpertExchange::poison_rows() { receive_->set({0, receive_->bytes()}, poison_value()); }

void ExpertExchange::run_experts() {
  for (size_t i = 0; i < in_.total_rows(); ++i)
    data_.apply_experts(receive_->data() + i * in_.row_bytes,
                        results_->data() + i * back_out_.row_bytes);
}

uint64_t ExpertExchange::digest() const { return mixed(hash_of(*receive_)) ^ hash_of(*sums_); }

}  // namespace cb::moe
