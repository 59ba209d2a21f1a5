#include "model/kv_transfer.h"

#include <algorithm>
#include <set>

#include <doctest/doctest.h>

#include "model/training/inference_cost.h"

using namespace cb;
using namespace cb::kv;

namespace {

CacheShape small_cache() {
  return {
      .layers = 2, .kv_heads = 2, .head_dim = 4, .element_bytes = 1, .page_tokens = 2, .tokens = 7};
}

// The bytes of a sender's memory as they lie in a receiver's after the plan; −1: not written.
std::vector<int> carried_out(const TransferPlan& plan, const std::vector<int>& sender) {
  std::vector<int> source = sender, target(sender.size(), -1);
  const auto copy = [](const Piece& p, const std::vector<int>& from, std::vector<int>& to) {
    std::copy_n(from.begin() + static_cast<long>(p.from), p.bytes,
                to.begin() + static_cast<long>(p.to));
  };
  for (const LayerPlan& layer : plan.layers) {
    for (const Piece& p : layer.gather) copy(p, source, source);
    for (const Piece& p : layer.messages) copy(p, source, target);
    for (const Piece& p : layer.scatter) copy(p, target, target);
  }
  return target;
}

// The pool and two staging buffers of one layer each; every byte has a value of its own.
std::vector<int> numbered(const CacheShape& shape) {
  std::vector<int> out(static_cast<size_t>(shape.bytes() + 2 * shape.layer_bytes()));
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<int>(i);
  return out;
}

}  // namespace

TEST_CASE("kv transfer: a page is 2 · kv · d · bytes · tokens, and the last page is whole") {
  const CacheShape small = small_cache();
  CHECK(small.page_bytes() == 32);
  CHECK(small.pages() == 4);
  CHECK(small.layer_bytes() == 128);
  CHECK(small.bytes() == 256);
  CHECK(CacheShape{.page_tokens = 16, .tokens = 16}.pages() == 1);
  CHECK(CacheShape{.page_tokens = 16, .tokens = 17}.pages() == 2);
  // Llama 8B in bf16: 64 KiB a page of 16 tokens, 131,072 bytes a token over all layers.
  const CacheShape llama{.layers = 32, .kv_heads = 8, .head_dim = 128, .tokens = 1024};
  CHECK(llama.page_bytes() == 65536);
  CHECK(static_cast<double>(llama.bytes()) ==
        1024 * training::kv_bytes_per_token(*training::find_shape("llama-8b"), 2));
}

TEST_CASE("kv transfer: a scattered table is a permutation, and the seed's own") {
  const BlockTable table = blocks_scattered(100, 3);
  CHECK(std::set<int64_t>(table.begin(), table.end()).size() == 100);
  CHECK(*std::ranges::max_element(table) == 99);
  CHECK(table != blocks_in_order(100));
  CHECK(table == blocks_scattered(100, 3));
  CHECK(table != blocks_scattered(100, 4));
  CHECK(blocks_scattered(1, 3) == BlockTable{0});
}

TEST_CASE("kv transfer: pages go one by one, in the order of the tokens") {
  const TransferPlan plan = by_pages(small_cache(), {0, 1, 3, 2}, {2, 3, 1, 0}, false);
  REQUIRE(plan.layers.size() == 2);
  CHECK(plan.layers[0].messages ==
        std::vector<Piece>{{0, 64, 32}, {32, 96, 32}, {96, 32, 32}, {64, 0, 32}});
  CHECK(plan.layers[1].messages[0] == Piece{128, 192, 32});
  CHECK(plan.messages() == 8);
  CHECK(!plan.staged);
}

TEST_CASE("kv transfer: joined are only neighbours at both ends, up to the most of a message") {
  const auto sizes = [](const TransferPlan& plan) {
    std::vector<uint64_t> out;
    for (const Piece& p : plan.layers[0].messages) out.push_back(p.bytes);
    return out;
  };
  const CacheShape shape = small_cache();
  const BlockTable order = blocks_in_order(4);
  CHECK(sizes(by_pages(shape, order, order, true)) == std::vector<uint64_t>{128});
  CHECK(sizes(by_pages(shape, order, order, true, 96)) == std::vector<uint64_t>{96, 32});
  CHECK(sizes(by_pages(shape, {0, 1, 3, 2}, {2, 3, 1, 0}, true)) ==
        std::vector<uint64_t>{64, 32, 32});
  CHECK(sizes(by_pages(shape, order, {0, 2, 1, 3}, true)) == std::vector<uint64_t>(4, 32));
}

TEST_CASE("kv transfer: packed and page by page bring the same bytes to the same blocks") {
  const CacheShape shape = small_cache();
  const BlockTable from{3, 0, 2, 1}, to{1, 2, 0, 3};
  const auto pool = static_cast<uint64_t>(shape.bytes());
  const auto only_pool = [&](std::vector<int> memory) {
    memory.resize(pool);
    return memory;
  };
  const std::vector<int> sender = numbered(shape);
  const auto by_page = only_pool(carried_out(by_pages(shape, from, to, false), sender));
  CHECK(std::ranges::find(by_page, -1) == by_page.end());
  // Page 0 of layer 1 lies in block 3 there, in block 1 here.
  CHECK(by_page[128 + 32] == 128 + 96);
  const TransferPlan by_layer = packed(shape, from, to, pool);
  CHECK(only_pool(carried_out(by_layer, sender)) == by_page);
  CHECK(by_layer.staged);
  CHECK(by_layer.layers[0].messages == std::vector<Piece>{{256, 256, 128}});
  CHECK(by_layer.layers[1].messages == std::vector<Piece>{{384, 384, 128}});
  CHECK(packed(shape, from, to, pool, 100).layers[1].messages ==
        std::vector<Piece>{{384, 384, 100}, {484, 484, 28}});
}

TEST_CASE("kv transfer: plain is each layer's part of the pool as it lies") {
  CHECK(plain(small_cache()).layers[1].messages == std::vector<Piece>{{128, 128, 128}});
  CHECK(plain(small_cache(), 120).layers[0].messages ==
        std::vector<Piece>{{0, 0, 120}, {120, 120, 8}});
}

TEST_CASE(
    "kv transfer: the first half of the hosts sends to the second, however ranks are placed") {
  CHECK(half_to_half({0, 0}) == std::vector<HostPair>{{0, 1}});
  CHECK(half_to_half({0, 0, 1, 1}) == std::vector<HostPair>{{0, 2}, {1, 3}});
  CHECK(half_to_half({0, 1, 0, 1}) == std::vector<HostPair>{{0, 1}, {2, 3}});
  CHECK(half_to_half({0, 0, 1, 1, 2, 2, 3, 3}) ==
        std::vector<HostPair>{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(half_to_half({0, 0, 0, 0}) == std::vector<HostPair>{{0, 2}, {1, 3}});
  CHECK(half_to_half({0, 1, 2}) == std::vector<HostPair>{{0, 1}});
}

TEST_CASE("kv transfer: both ends of a pair have the same place on their hosts") {
  // Of three hosts another one is left out at each place.
  CHECK(half_to_half({0, 0, 1, 1, 2, 2}) == std::vector<HostPair>{{0, 2}, {3, 5}});
  CHECK(half_to_half({0, 0, 0, 1, 1, 1, 2, 2, 2}) == std::vector<HostPair>{{0, 3}, {4, 7}, {8, 2}});
  // Hosts with different numbers of ranks: no pair within a host beside one between hosts.
  CHECK(half_to_half({0, 0, 0, 1}) == std::vector<HostPair>{{0, 3}});
  CHECK(half_to_half({0, 1, 1, 2}) == std::vector<HostPair>{{0, 1}});
}

TEST_CASE("kv transfer: a rank without a partner has a rail that nobody measures") {
  const auto all = [](const std::vector<int>& hosts) {
    return has_all_ranks(half_to_half(hosts), hosts);
  };
  CHECK(all({0, 1, 2, 3}));
  CHECK_FALSE(all({0, 1, 2}));
  CHECK_FALSE(all({0, 1, 2, 3, 4}));
  CHECK(all({0, 0, 1, 1}));
  CHECK_FALSE(all({0, 0, 1, 1, 2, 2}));
  CHECK_FALSE(all({0, 0, 0, 1, 1, 1, 2, 2, 2}));
  CHECK_FALSE(all({0, 0, 0}));
}
