#pragma once

#include <cstdint>
#include <vector>

#include "model/schedule.h"

// The cache of keys and values of one prompt as engines keep it, and how it goes from one pool of
// pages to another. docs/methods/kv-transfer.md.
namespace cb::kv {

// What one rank holds of a decoder's cache.
struct CacheShape {
  int64_t layers = 0;
  int64_t kv_heads = 0;  // of this rank
  int64_t head_dim = 0;
  int element_bytes = 2;
  int64_t page_tokens = 16;
  int64_t tokens = 0;  // of the prompt

  // Keys and values of a page's tokens in one layer: 2·kv·d elements a token.
  int64_t page_bytes() const { return 2 * kv_heads * head_dim * element_bytes * page_tokens; }
  // Pages of a layer. The last one is whole, as engines keep and send it.
  int64_t pages() const { return (tokens + page_tokens - 1) / page_tokens; }
  int64_t layer_bytes() const { return pages() * page_bytes(); }
  int64_t bytes() const { return layers * layer_bytes(); }
};

// The block of each page within its layer's part of a pool: the table that an engine keeps of a
// sequence. All layers have the same one.
using BlockTable = std::vector<int64_t>;
BlockTable blocks_in_order(int64_t pages);
// One seed gives one permutation.
BlockTable blocks_scattered(int64_t pages, uint64_t seed);

// Bytes that go or are copied from one place of a pool to one place of another.
struct Piece {
  uint64_t from = 0;
  uint64_t to = 0;
  uint64_t bytes = 0;
  bool operator==(const Piece&) const = default;
};

struct LayerPlan {
  std::vector<Piece> gather = {};  // copies at the sender, before the messages
  std::vector<Piece> messages = {};
  std::vector<Piece> scatter = {};  // copies at the receiver, after them
};

struct TransferPlan {
  std::vector<LayerPlan> layers = {};
  // Layers use two staging buffers in turn: layer l has to wait for the acknowledgement of l − 2.
  bool staged = false;

  uint64_t messages() const;
};

constexpr uint64_t kMostOfAMessage = uint64_t{1} << 30;

// Each page is a message, in the order of the tokens. With `join` pages that are neighbours at both
// ends are one, up to `most` bytes.
TransferPlan by_pages(const CacheShape& shape, const BlockTable& from, const BlockTable& to,
                      bool join, uint64_t most = kMostOfAMessage);
// The pages of a layer are copied into a staging buffer, sent as one, and copied to their blocks.
// The two buffers begin at `staging` of each pool's memory.
TransferPlan packed(const CacheShape& shape, const BlockTable& from, const BlockTable& to,
                    uint64_t staging, uint64_t most = kMostOfAMessage);
// Each layer's part of the pool as it lies, in the largest messages: what pages are compared with.
TransferPlan plain(const CacheShape& shape, uint64_t most = kMostOfAMessage);

// Who sends to whom, always from one place of a host to the same place of another one, so that both
// have the same rail. Of an even number of hosts the first half sends to the second. One host alone
// pairs its own ranks half to half. Of an odd number one is left out.
std::vector<HostPair> half_to_half(const std::vector<int>& host_of_rank);
// Whether each rank, with its GPU and its NIC, is in one of these pairs.
bool has_all_ranks(const std::vector<HostPair>& pairs, const std::vector<int>& host_of_rank);

}  // namespace cb::kv
