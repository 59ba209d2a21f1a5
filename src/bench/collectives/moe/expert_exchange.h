#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/collectives/buffer.h"
#include "bench/collectives/moe/routes.h"
#include "bench/collectives/moe/row_blocks.h"
#include "bench/collectives/moe/token_data.h"

namespace cb::moe {

// What is wrong with what a rank received. The text tells where: token, sender, element.
struct Wrong {
  uint64_t count = 0;  // rows, tokens or counts
  Said text;
};

// A call failed on another rank, which says why: this one has nothing to add.
struct FailedElsewhere {};

// One rank's part of dispatch and combine: the calls, which a device makes, and what is common to
// all devices, in host memory: the data, the check of what came, the experts. What a device has
// elsewhere it brings here to be looked at.
class ExpertExchange {
 public:
  // `who_of_rank` names every rank for messages. The data must outlive it.
  ExpertExchange(Routes routes, const TokenData& data, std::vector<std::string> who_of_rank);
  virtual ~ExpertExchange();
  ExpertExchange(const ExpertExchange&) = delete;
  ExpertExchange& operator=(const ExpertExchange&) = delete;

  // Bytes of all buffers of a device that has host memory.
  static uint64_t buffer_bytes(const Routes& routes, const TokenFormat& format);

  virtual void prepare(uint64_t iteration);  // fresh tokens
  // Clear the rows that came, there or back, of all that is expected.
  virtual void poison_rows();
  virtual void poison_returned() = 0;

  // Finds where each token goes, exchanges counts, packs rows by receiving rank, exchanges rows.
  virtual void dispatch() = 0;
  // Of the last dispatch(), monotonic seconds: when it began to exchange counts, which no rank
  // leaves before all have come, and when it had packed and began to exchange rows.
  double counting_at() const { return counting_at_; }
  double packed_at() const { return packed_at_; }
  // Exchanges the rows that the last dispatch() packed.
  virtual void dispatch_rows() = 0;
  // The experts' part between both; no figure has it.
  virtual void run_experts();
  // Exchanges rows back and adds them in the order of the tokens.
  virtual void combine() = 0;
  virtual void combine_rows() = 0;
  virtual void add_rows() = 0;
  // Seconds of the last of these calls by the device's own clock, if it has one.
  virtual std::optional<double> device_seconds() const { return std::nullopt; }
  // Before the ranks meet for one of these calls.
  virtual void announce(const std::string& /*what*/) {}
  // Collective. Throws on all ranks if a device has failed meanwhile.
  virtual void agree() {}

  std::optional<Wrong> verify_dispatch();
  std::optional<Wrong> verify_combine();
  uint64_t digest() const;  // of the rows that came and of the sums

  // Faults in what this rank has received.
  void flip_element();
  void drop_token();
  void swap_expert();
  void flip_sum();

  const Routes& routes() const { return routes_; }
  size_t rows_in() const { return in_.total_rows(); }

 protected:
  virtual bool guards_intact() const;
  // Between a device and the host's buffers: the rows that came, and the sums.
  virtual void fetch_rows() {}
  virtual void store_rows() {}
  virtual void fetch_sums() {}
  virtual void store_sums() {}
  // A byte beside the rows, where a rank has no row to spoil.
  virtual void flip_guard() { receive_->flip(-1); }
  uint8_t poison_value() const;

  Routes routes_;
  const TokenData& data_;
  RowBlocks out_, in_, back_out_, back_in_;  // dispatch, and combine the other way
  uint64_t iteration_ = 0;
  double counting_at_ = 0, packed_at_ = 0;
  std::vector<int> counts_from_;
  std::unique_ptr<CollectiveBuffer> tokens_, receive_, results_, sums_;

 private:
  std::optional<Wrong> verify_counts() const;
  Said wrong_row(const std::byte* row, const TokenId& expected,
                 std::span<const int32_t> experts) const;
  Said wrong_sum(int32_t token, std::span<const float> got, std::span<const float> expected) const;
  std::string of_token(const TokenId& id) const;
  void spoil_rows(const std::function<void()>& spoil);

  std::vector<std::string> who_of_rank_;
};

}  // namespace cb::moe
