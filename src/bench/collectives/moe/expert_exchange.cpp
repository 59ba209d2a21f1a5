#include "bench/collectives/moe/expert_exchange.h"

#include <algorithm>
#include <cstring>

#include "core/clock.h"
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

ExpertExchange::ExpertExchange(Routes routes, const TokenData& data, RowExchange wire,
                               std::vector<std::string> who_of_rank)
    : routes_(std::move(routes)),
      data_(data),
      wire_(wire),
      who_of_rank_(std::move(who_of_rank)),
      out_(blocks_out(routes_, data.row_bytes())),
      in_(blocks_in(routes_, data.row_bytes())),
      back_out_(blocks_in(routes_, static_cast<size_t>(data.format().combine_payload()))),
      back_in_(blocks_out(routes_, static_cast<size_t>(data.format().combine_payload()))),
      counts_to_(out_.rows.size()),
      counts_from_(out_.rows.size()),
      places_(out_.rows.size()) {
  const auto tokens = static_cast<uint64_t>(routes_.router.tokens);
  tokens_ = host_buffer(tokens * static_cast<uint64_t>(data.format().dispatch_payload()));
  send_ = host_buffer(out_.bytes());
  receive_ = host_buffer(in_.bytes());
  results_ = host_buffer(back_out_.bytes());
  returned_ = host_buffer(back_in_.bytes());
  sums_ = host_buffer(tokens * static_cast<uint64_t>(data.format().hidden) * sizeof(float));
}

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
  poison();
}

uint8_t ExpertExchange::poison_value() const {
  return static_cast<uint8_t>(0x5a ^ (iteration_ & 0xff));
}

void ExpertExchange::poison_rows() { receive_->set({0, receive_->bytes()}, poison_value()); }

void ExpertExchange::poison_returned() { returned_->set({0, returned_->bytes()}, poison_value()); }

void ExpertExchange::poison() {
  poison_rows();
  poison_returned();
  sums_->set({0, sums_->bytes()}, poison_value());
  std::fill(counts_from_.begin(), counts_from_.end(), -1);
}

void ExpertExchange::find_places() {
  for (auto& tokens : places_) tokens.clear();
  for (int32_t t = 0; t < routes_.router.tokens; ++t) {
    for (const int32_t e : routes_.experts_of(static_cast<size_t>(t))) {
      std::vector<int32_t>& there = places_[static_cast<size_t>(routes_.router.rank_of(e))];
      if (there.empty() || there.back() != t) there.push_back(t);
    }
  }
  for (size_t to = 0; to < places_.size(); ++to)
    counts_to_[to] = static_cast<int>(places_[to].size());
}

void ExpertExchange::pack() {
  const auto payload = static_cast<size_t>(data_.format().dispatch_payload());
  std::vector<int32_t> experts(static_cast<size_t>(routes_.router.top_k));
  std::byte* row = send_->data();
  for (size_t to = 0; to < places_.size(); ++to) {
    for (const int32_t t : places_[to]) {
      std::memcpy(row, tokens_->data() + static_cast<size_t>(t) * payload, payload);
      mask_experts(routes_.router, static_cast<int>(to), routes_.experts_of(static_cast<size_t>(t)),
                   experts);
      data_.write_label({routes_.rank, t, iteration_}, experts, row);
      row += out_.row_bytes;
    }
  }
}

void ExpertExchange::dispatch() {
  find_places();
  counting_at_ = monotonic_seconds();
  wire_.counts(counts_to_, counts_from_);
  pack();
  packed_at_ = monotonic_seconds();
  dispatch_rows();
}

void ExpertExchange::dispatch_rows() { wire_.rows(send_->data(), out_, receive_->data(), in_); }

void ExpertExchange::run_experts() {
  for (size_t i = 0; i < in_.total_rows(); ++i)
    data_.apply_experts(receive_->data() + i * in_.row_bytes,
                        results_->data() + i * back_out_.row_bytes);
}

void ExpertExchange::combine() {
  combine_rows();
  add_rows();
}

void ExpertExchange::combine_rows() {
  wire_.rows(results_->data(), back_out_, returned_->data(), back_in_);
}

void ExpertExchange::add_rows() {
  const auto hidden = static_cast<size_t>(data_.format().hidden);
  sums_->set({0, sums_->bytes()}, 0);
  auto* sums = reinterpret_cast<float*>(sums_->data());
  const std::byte* row = returned_->data();
  for (const auto& tokens : places_) {
    for (const int32_t t : tokens) {
      data_.add(row, {sums + static_cast<size_t>(t) * hidden, hidden});
      row += back_in_.row_bytes;
    }
  }
}

uint64_t ExpertExchange::digest() const { return mixed(hash_of(*receive_)) ^ hash_of(*sums_); }

}  // namespace cb::moe
