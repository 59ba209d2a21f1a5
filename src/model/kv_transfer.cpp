#include "model/kv_transfer.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "model/counter_random.h"

namespace cb::kv {
namespace {

void add_cut(std::vector<Piece>& out, Piece whole, uint64_t most) {
  while (whole.bytes > 0) {
    const uint64_t bytes = std::min(whole.bytes, most);
    out.push_back({whole.from, whole.to, bytes});
    whole = {whole.from + bytes, whole.to + bytes, whole.bytes - bytes};
  }
}

bool follows(const Piece& before, const Piece& next) {
  return before.from + before.bytes == next.from && before.to + before.bytes == next.to;
}

// Where a layer's blocks begin in a pool.
uint64_t begin_of_layer(const CacheShape& shape, int64_t layer) {
  return static_cast<uint64_t>(layer * shape.layer_bytes());
}

uint64_t place_in_pool(const CacheShape& shape, int64_t layer, int64_t block) {
  return begin_of_layer(shape, layer) + static_cast<uint64_t>(block * shape.page_bytes());
}

}  // namespace

BlockTable blocks_in_order(int64_t pages) {
  BlockTable out(static_cast<size_t>(pages));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

// Fisher and Yates.
BlockTable blocks_scattered(int64_t pages, uint64_t seed) {
  BlockTable out = blocks_in_order(pages);
  for (size_t i = out.size(); i > 1; --i) std::swap(out[i - 1], out[mixed(mixed(seed) + i) % i]);
  return out;
}

uint64_t TransferPlan::messages() const {
  uint64_t out = 0;
  for (const LayerPlan& layer : layers) out += layer.messages.size();
  return out;
}

TransferPlan by_pages(const CacheShape& shape, const BlockTable& from, const BlockTable& to,
                      bool join, uint64_t most) {
  const auto bytes = static_cast<uint64_t>(shape.page_bytes());
  TransferPlan out;
  for (int64_t l = 0; l < shape.layers; ++l) {
    std::vector<Piece>& messages = out.layers.emplace_back().messages;
    for (size_t p = 0; p < from.size(); ++p) {
      const Piece next{place_in_pool(shape, l, from[p]), place_in_pool(shape, l, to[p]), bytes};
      const bool joins = join && !messages.empty() && follows(messages.back(), next) &&
                         messages.back().bytes + bytes <= most;
      if (joins)
        messages.back().bytes += bytes;
      else
        messages.push_back(next);
    }
  }
  return out;
}

TransferPlan packed(const CacheShape& shape, const BlockTable& from, const BlockTable& to,
                    uint64_t staging, uint64_t most) {
  const auto bytes = static_cast<uint64_t>(shape.page_bytes());
  const auto whole = static_cast<uint64_t>(shape.layer_bytes());
  TransferPlan out{.staged = true};
  for (int64_t l = 0; l < shape.layers; ++l) {
    LayerPlan& layer = out.layers.emplace_back();
    const uint64_t buffer = staging + static_cast<uint64_t>(l % 2) * whole;
    for (size_t p = 0; p < from.size(); ++p) {
      const uint64_t at = buffer + p * bytes;
      layer.gather.push_back({place_in_pool(shape, l, from[p]), at, bytes});
      layer.scatter.push_back({at, place_in_pool(shape, l, to[p]), bytes});
    }
    add_cut(layer.messages, {buffer, buffer, whole}, most);
  }
  return out;
}

TransferPlan plain(const CacheShape& shape, uint64_t most) {
  TransferPlan out;
  for (int64_t l = 0; l < shape.layers; ++l) {
    const uint64_t at = begin_of_layer(shape, l);
    add_cut(out.layers.emplace_back().messages,
            {at, at, static_cast<uint64_t>(shape.layer_bytes())}, most);
  }
  return out;
}

namespace {

// The ranks at each place of a host, in the order of the hosts.
std::vector<std::vector<int>> ranks_by_place(const std::vector<int>& host_of_rank) {
  std::map<int, std::vector<int>> of_host;
  for (size_t r = 0; r < host_of_rank.size(); ++r)
    of_host[host_of_rank[r]].push_back(static_cast<int>(r));
  if (of_host.size() == 1) return {of_host.begin()->second};
  std::vector<std::vector<int>> out;
  for (const auto& [host, ranks] : of_host) {
    if (out.size() < ranks.size()) out.resize(ranks.size());
    for (size_t place = 0; place < ranks.size(); ++place) out[place].push_back(ranks[place]);
  }
  return out;
}

}  // namespace

// Of an odd number another host is left out at each place, so that two places reach all hosts.
std::vector<HostPair> half_to_half(const std::vector<int>& host_of_rank) {
  std::vector<HostPair> out;
  size_t place = 0;
  for (std::vector<int>& ranks : ranks_by_place(host_of_rank)) {
    const size_t half = ranks.size() / 2;
    if (ranks.size() % 2 == 1)
      std::rotate(ranks.begin(), ranks.begin() + static_cast<int64_t>(place % ranks.size()),
                  ranks.end());
    for (size_t i = 0; i < half; ++i) out.push_back({ranks[i], ranks[i + half]});
    ++place;
  }
  std::ranges::sort(out, {}, &HostPair::from);
  return out;
}

bool has_all_ranks(const std::vector<HostPair>& pairs, const std::vector<int>& host_of_rank) {
  return 2 * pairs.size() == host_of_rank.size();
}

}  // namespace cb::kv
