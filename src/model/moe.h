#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// How the tokens of a mixture of experts are routed, and what dispatch and combine move for it.
// Pure; docs/methods/moe.md.
namespace cb::moe {

enum class RoutingKind { balanced, random, skewed };

struct Routing {
  RoutingKind kind = RoutingKind::random;
  double share = 0;  // skewed: of the tokens that choose the first experts
  uint64_t seed = 1;
};

// Reads "balanced", "random", "skewed" (a half) or "skewed:0.3"; nothing for anything else.
std::optional<Routing> parse_routing(std::string_view text);

// Expert e is on rank e / (experts / ranks).
struct Router {
  int64_t tokens = 128;  // of each rank
  int experts = 256;     // a multiple of `ranks`
  int top_k = 8;
  int ranks = 1;
  Routing routing = {};

  int experts_of_rank() const { return experts / ranks; }
  int rank_of(int expert) const { return expert / experts_of_rank(); }

  // The experts of a token, the best first: `out` has top_k elements, all different.
  // random: those with the highest scores, which are uniform numbers made of seed, rank, token and
  //   expert.
  // skewed: a share of the tokens chooses the experts 0 … k−1, the rest as in random.
  // balanced: every (experts / k)-th expert, from one that moves on by one with each token.
  void choose(int rank, int64_t token, std::span<int32_t> out) const;
};

// The better half of a token's experts counts twice: small numbers, so that every sum is exact.
constexpr int weight_of_place(int place, int top_k) { return place < (top_k + 1) / 2 ? 2 : 1; }

// The tokens of one rank, and where they go. A token that chooses several experts of one rank is
// sent there once.
struct Sent {
  std::vector<int32_t> experts;              // tokens × top_k
  std::vector<std::vector<int32_t>> tokens;  // by receiving rank, ascending
};
Sent route(const Router& router, int rank);

// By sending rank and receiving rank: number of tokens. ranks × ranks, in rows of senders.
class Copies {
 public:
  explicit Copies(int ranks)
      : ranks_(ranks), counts_(static_cast<size_t>(ranks) * static_cast<size_t>(ranks)) {}
  int ranks() const { return ranks_; }
  int64_t& at(int from, int to) { return counts_[index(from, to)]; }
  int64_t at(int from, int to) const { return counts_[index(from, to)]; }

 private:
  size_t index(int from, int to) const {
    return static_cast<size_t>(from) * static_cast<size_t>(ranks_) + static_cast<size_t>(to);
  }
  int ranks_;
  std::vector<int64_t> counts_;
};

// The most tokens that leave, or come into, one part of the job.
struct Bottleneck {
  int64_t sent = 0, received = 0;
};

// Of the ranks: what goes to other ranks.
Bottleneck busiest_rank(const Copies& copies);
// Of the hosts: what goes to other hosts. Zero with one host.
Bottleneck busiest_host(const Copies& copies, std::span<const int> host_of_rank);

struct Load {
  int busiest = 0;       // the rank that receives most tokens, its own included
  double imbalance = 1;  // what it receives over the mean of all ranks
  double mean = 0;       // tokens that a rank receives, its own included
};
Load load(const Copies& copies);

// What one token is on the wire.
struct TokenFormat {
  int64_t hidden = 7168;                   // a multiple of 128
  int dispatch_bytes = 1;                  // of an element: 1 (fp8, with scales) or 2 (bf16)
  int combine_bytes = 2;                   // 2 (bf16) or 4 (fp32)
  static constexpr int64_t kScaled = 128;  // elements that share a scale of 4 bytes

  int64_t scales() const { return dispatch_bytes == 1 ? hidden / kScaled : 0; }
  // What the figures count: elements and scales.
  int64_t dispatch_payload() const { return hidden * dispatch_bytes + 4 * scales(); }
  int64_t combine_payload() const { return hidden * combine_bytes; }
  // A row: the payload, then the number of the rank and of the token, each expert and each weight;
  // up to a multiple of 16 bytes.
  int64_t dispatch_row(int top_k) const {
    return (dispatch_payload() + 8 + 8 * top_k + 15) / 16 * 16;
  }
};

}  // namespace cb::moe
