#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/moe.h"

// What tokens hold and what experts make of them: small integers, and scales that are powers of
// two, so that every sum is exact in bf16 and fp32, in any order. docs/methods/moe.md.
namespace cb::moe {

// Which token, of which data: every iteration has its own.
struct TokenId {
  int rank = 0;
  int32_t token = 0;
  uint64_t iteration = 0;
};

class TokenData {
 public:
  TokenData(const TokenFormat& format, int experts, int top_k, uint64_t seed);

  const TokenFormat& format() const { return format_; }
  int top_k() const { return top_k_; }
  size_t row_bytes() const { return static_cast<size_t>(format_.dispatch_row(top_k_)); }

  // Writes elements and scales.
  void write_payload(const TokenId& id, std::byte* out) const;

  // Rank and number of the token, its experts (−1 where the expert is on another rank) and their
  // weights, behind the payload of a row, and zeros to the row's end.
  void write_label(const TokenId& id, std::span<const int32_t> experts, std::byte* row) const;
  struct Label {
    int32_t rank = 0, token = 0;
    std::vector<int32_t> experts;
    std::vector<float> weights;
    bool operator==(const Label&) const = default;
  };
  Label label(const std::byte* row) const;
  Label expected_label(const TokenId& id, std::span<const int32_t> experts) const;

  // What the experts of a row make of its elements, weighted and added, in the format of combine.
  // An expert that does not exist adds nothing.
  void apply_experts(const std::byte* row, std::byte* out) const;
  // Adds a row of combine to the sum of its token.
  void add(const std::byte* row, std::span<float> sum) const;
  // What the sum must be, by the routing alone.
  void expected_sum(const TokenId& id, std::span<const int32_t> experts,
                    std::span<float> sum) const;

 private:
  size_t hidden() const { return static_cast<size_t>(format_.hidden); }
  uint64_t seed_of(const TokenId& id) const;
  void elements(uint64_t seed, std::span<int8_t> out) const;
  float scale(uint64_t seed, size_t block) const;
  void decode(const std::byte* row, std::span<float> out) const;
  std::span<const int8_t> factors(int32_t expert) const {
    return {factors_.data() + static_cast<size_t>(expert) * hidden(), hidden()};
  }

  TokenFormat format_;
  int experts_, top_k_;
  uint64_t seed_;
  std::vector<int8_t> factors_;  // experts × hidden: −2, −1, 1 or 2
  std::vector<float> fp8_;       // value of each code
};

}  // namespace cb::moe
