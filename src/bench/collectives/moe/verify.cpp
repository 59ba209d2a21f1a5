// What came is compared with what the routing alone says; and the faults that show that this is
// seen.
#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/collectives/moe/expert_exchange.h"

namespace cb::moe {
namespace {

constexpr size_t kNowhere = SIZE_MAX;

void add_wrong(std::optional<Wrong>& all, Said text) {
  if (text.empty()) return;
  if (all)
    ++all->count;
  else
    all = Wrong{1, std::move(text)};
}

std::string experts_text(std::span<const int32_t> experts) {
  std::vector<int32_t> here;
  std::copy_if(experts.begin(), experts.end(), std::back_inserter(here),
               [](int32_t e) { return e >= 0; });
  return here.empty() ? "–" : fmt::format("{}", fmt::join(here, ", "));
}

// Index of the first element of `bytes` bytes that differs.
size_t first_difference(const std::byte* got, const std::byte* expected, size_t elements,
                        size_t bytes) {
  for (size_t i = 0; i < elements; ++i) {
    if (std::memcmp(got + i * bytes, expected + i * bytes, bytes) != 0) return i;
  }
  return kNowhere;
}

std::string hex(const std::byte* from, size_t bytes) {
  uint64_t value = 0;
  std::memcpy(&value, from, bytes);
  return fmt::format("{:#x}", value);
}

}  // namespace

std::string ExpertExchange::of_token(const TokenId& id) const {
  const bool known = id.rank >= 0 && static_cast<size_t>(id.rank) < who_of_rank_.size();
  return fmt::format(
      "{} ({})", id.token,
      known ? who_of_rank_[static_cast<size_t>(id.rank)] : fmt::format("rank {}", id.rank));
}

bool ExpertExchange::guards_intact() const {
  CollectiveBuffer* const all[] = {receive_.get(), results_.get(), sums_.get()};
  return std::ranges::all_of(all, [](CollectiveBuffer* b) { return b->guards_intact(); });
}

std::optional<Wrong> ExpertExchange::verify_counts() const {
  std::optional<Wrong> wrong;
  for (size_t from = 0; from < counts_from_.size(); ++from) {
    if (counts_from_[from] != in_.rows[from])
      add_wrong(wrong,
                said("moe.wrong_count", who_of_rank_[from], counts_from_[from], in_.rows[from]));
  }
  return wrong;
}

Said ExpertExchange::wrong_row(const std::byte* row, const TokenId& expected,
                               std::span<const int32_t> experts) const {
  std::vector<std::byte> whole(data_.row_bytes());
  data_.write_payload(expected, whole.data());
  data_.write_label(expected, experts, whole.data());
  if (std::memcmp(row, whole.data(), whole.size()) == 0) return {};
  const TokenData::Label got = data_.label(row), right = data_.expected_label(expected, experts);
  if (got.rank != right.rank || got.token != right.token)
    return said("moe.wrong_token", of_token(expected), of_token({got.rank, got.token}));
  if (got.experts != right.experts)
    return said("moe.wrong_expert", of_token(expected), experts_text(got.experts),
                experts_text(right.experts));
  if (got.weights != right.weights) return said("moe.wrong_weight", of_token(expected));
  const TokenFormat& format = data_.format();
  if (std::memcmp(row, whole.data(), static_cast<size_t>(format.dispatch_payload())) == 0)
    return said("moe.wrong_end", of_token(expected));
  const auto width = static_cast<size_t>(format.dispatch_bytes);
  const auto hidden = static_cast<size_t>(format.hidden);
  const size_t at = first_difference(row, whole.data(), hidden, width);
  if (at == kNowhere) return said("moe.wrong_scale", of_token(expected));
  return said(
      "moe.wrong_element", of_token(expected), at,
      said("coll.got", hex(row + at * width, width), hex(whole.data() + at * width, width)));
}

std::optional<Wrong> ExpertExchange::verify_dispatch() {
  fetch_rows();
  if (!guards_intact()) return Wrong{1, said("coll.beside")};
  if (auto wrong = verify_counts()) return wrong;
  std::optional<Wrong> wrong;
  const std::byte* row = receive_->data();
  for (size_t from = 0; from < routes_.incoming.size(); ++from) {
    for (const Incoming& expected : routes_.incoming[from]) {
      const TokenId id{static_cast<int>(from), expected.token, iteration_};
      add_wrong(wrong, wrong_row(row, id, expected.experts));
      row += in_.row_bytes;
    }
  }
  return wrong;
}

Said ExpertExchange::wrong_sum(int32_t token, std::span<const float> got,
                               std::span<const float> expected) const {
  for (size_t j = 0; j < got.size(); ++j) {
    if (got[j] == expected[j]) continue;
    return said("moe.wrong_sum", token, j,
                said("coll.got", fmt::format("{}", got[j]), fmt::format("{}", expected[j])),
                experts_text(routes_.experts_of(static_cast<size_t>(token))));
  }
  return {};
}

std::optional<Wrong> ExpertExchange::verify_combine() {
  fetch_sums();
  if (!guards_intact()) return Wrong{1, said("coll.beside")};
  const auto hidden = static_cast<size_t>(data_.format().hidden);
  std::vector<float> expected(hidden);
  const auto* sums = reinterpret_cast<const float*>(sums_->data());
  std::optional<Wrong> wrong;
  for (int32_t t = 0; t < routes_.router.tokens; ++t) {
    const auto at = static_cast<size_t>(t);
    data_.expected_sum({routes_.rank, t, iteration_}, routes_.experts_of(at), expected);
    add_wrong(wrong, wrong_sum(t, {sums + at * hidden, hidden}, expected));
  }
  return wrong;
}

// A rank to which no token comes has its guard zone spoilt, so that no fault goes by unplanted.
void ExpertExchange::flip_element() {
  spoil_rows([&] {
    const size_t middle =
        rows_in() / 2 * in_.row_bytes + static_cast<size_t>(data_.format().hidden) / 2;
    receive_->flip(static_cast<int64_t>(middle));
  });
}

void ExpertExchange::drop_token() {
  spoil_rows([&] {
    const size_t rest = in_.bytes() - in_.row_bytes;
    std::memmove(receive_->data(), receive_->data() + in_.row_bytes, rest);
    receive_->set({rest, in_.row_bytes}, 0x5a);
  });
}

void ExpertExchange::swap_expert() {
  spoil_rows([&] {
    std::byte* const row = receive_->data() + rows_in() / 2 * in_.row_bytes;
    TokenData::Label told = data_.label(row);
    for (int32_t& e : told.experts) {
      if (e < 0) continue;
      e = (e + 1) % routes_.router.experts;
      break;
    }
    data_.write_label({told.rank, told.token, iteration_}, told.experts, row);
  });
}

void ExpertExchange::spoil_rows(const std::function<void()>& spoil) {
  fetch_rows();
  if (rows_in() == 0) return flip_guard();
  spoil();
  store_rows();
}

void ExpertExchange::flip_sum() {
  fetch_sums();
  sums_->flip(static_cast<int64_t>(sums_->bytes() / 2));
  store_sums();
}

}  // namespace cb::moe
