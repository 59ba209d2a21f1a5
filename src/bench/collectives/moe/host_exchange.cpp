#include "bench/collectives/moe/host_exchange.h"

#include <cstring>

#include "core/clock.h"

namespace cb::moe {

HostExchange::HostExchange(Routes routes, const TokenData& data, RowExchange wire,
                           std::vector<std::string> who_of_rank)
    : ExpertExchange(std::move(routes), data, std::move(who_of_rank)),
      wire_(wire),
      counts_to_(out_.rows.size()),
      places_(out_.rows.size()),
      send_(host_buffer(out_.bytes())),
      returned_(host_buffer(back_in_.bytes())) {}

bool HostExchange::guards_intact() const {
  return ExpertExchange::guards_intact() && send_->guards_intact() && returned_->guards_intact();
}

void HostExchange::poison_returned() { returned_->set({0, returned_->bytes()}, poison_value()); }

void HostExchange::find_places() {
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

void HostExchange::pack() {
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

void HostExchange::dispatch() {
  find_places();
  counting_at_ = monotonic_seconds();
  wire_.counts(counts_to_, counts_from_);
  pack();
  packed_at_ = monotonic_seconds();
  dispatch_rows();
}

void HostExchange::dispatch_rows() { wire_.rows(send_->data(), out_, receive_->data(), in_); }

void HostExchange::combine() {
  combine_rows();
  add_rows();
}

void HostExchange::combine_rows() {
  wire_.rows(results_->data(), back_out_, returned_->data(), back_in_);
}

void HostExchange::add_rows() {
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

}  // namespace cb::moe
