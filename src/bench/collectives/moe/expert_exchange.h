#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/collectives/buffer.h"
#include "bench/collectives/moe/routes.h"
#include "bench/collectives/moe/row_exchange.h"
#include "bench/collectives/moe/token_data.h"

namespace cb::moe {

// What is wrong with what a rank received. The text tells where: token, sender, element.
struct Wrong {
  uint64_t count = 0;  // rows, tokens or counts
  Said text;
};

// One rank's buffers and calls of dispatch and combine.
class ExpertExchange {
 public:
  // `who_of_rank` names every rank for messages. The data must outlive it.
  ExpertExchange(Routes routes, const TokenData& data, RowExchange wire,
                 std::vector<std::string> who_of_rank);

  // Bytes of all buffers.
  static uint64_t buffer_bytes(const Routes& routes, const TokenFormat& format);

  void prepare(uint64_t iteration);  // fresh tokens
  // Clear the rows that came, there or back, of all that is expected.
  void poison_rows();
  void poison_returned();

  // Finds where each token goes, exchanges counts, packs rows by receiving rank, exchanges rows.
  void dispatch();
  // Of the last dispatch(), monotonic seconds: when it began to exchange counts, which no rank
  // leaves before all have come, and when it had packed and began to exchange rows.
  double counting_at() const { return counting_at_; }
  double packed_at() const { return packed_at_; }
  // Exchanges the rows that the last dispatch() packed.
  void dispatch_rows();
  // The experts' part between both; no figure has it.
  void run_experts();
  // Exchanges rows back and adds them in the order of the tokens.
  void combine();
  void combine_rows();
  void add_rows();

  std::optional<Wrong> verify_dispatch() const;
  std::optional<Wrong> verify_combine() const;
  uint64_t digest() const;  // of the rows that came and of the sums

  // Faults in what this rank has received.
  void flip_element();
  void drop_token();
  void swap_expert();
  void flip_sum();

  const Routes& routes() const { return routes_; }
  size_t rows_in() const { return in_.total_rows(); }

 private:
  void poison();
  uint8_t poison_value() const;
  void find_places();
  void pack();
  std::optional<Wrong> verify_counts() const;
  Said wrong_row(const std::byte* row, const TokenId& expected,
                 std::span<const int32_t> experts) const;
  Said wrong_sum(int32_t token, std::span<const float> got, std::span<const float> expected) const;
  std::string of_token(const TokenId& id) const;
  bool guards_intact() const;

  Routes routes_;
  const TokenData& data_;
  RowExchange wire_;
  std::vector<std::string> who_of_rank_;
  RowBlocks out_, in_, back_out_, back_in_;  // dispatch, and combine the other way
  uint64_t iteration_ = 0;
  double counting_at_ = 0, packed_at_ = 0;
  std::vector<int> counts_to_, counts_from_;
  std::vector<std::vector<int32_t>> places_;  // by receiving rank: tokens
  std::unique_ptr<CollectiveBuffer> tokens_, send_, receive_, results_, returned_, sums_;
};

}  // namespace cb::moe
