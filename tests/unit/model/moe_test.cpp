#include "model/moe.h"

#include <algorithm>
#include <array>
#include <set>

#include <doctest/doctest.h>

#include "model/counter_random.h"

using namespace cb;
using namespace cb::moe;

namespace {

Router small(const char* routing, int64_t tokens = 4) {
  return {.tokens = tokens,
          .experts = 8,
          .top_k = 2,
          .ranks = 4,
          .routing = parse_routing(routing).value()};
}

Copies copies_of(const Router& router) {
  Copies out(router.ranks);
  for (int from = 0; from < router.ranks; ++from) {
    const Sent sent = route(router, from);
    for (int to = 0; to < router.ranks; ++to)
      out.at(from, to) = static_cast<int64_t>(sent.tokens[static_cast<size_t>(to)].size());
  }
  return out;
}

std::vector<int32_t> chosen(const Router& router, int rank, int64_t token) {
  std::vector<int32_t> out(static_cast<size_t>(router.top_k));
  router.choose(rank, token, out);
  return out;
}

}  // namespace

TEST_CASE("moe: a routing is read, and anything else is refused") {
  CHECK(parse_routing("balanced")->kind == RoutingKind::balanced);
  CHECK(parse_routing("random")->kind == RoutingKind::random);
  CHECK(parse_routing("skewed")->share == 0.5);
  CHECK(parse_routing("skewed:0")->share == 0);
  CHECK(parse_routing("skewed:0.25")->share == 0.25);
  CHECK(parse_routing("skewed:1")->share == 1);
  for (const char* wrong : {"", "Random", "skew", "skewed:", "skewed:1.01", "skewed:-0.1",
                            "skewed:nan", "skewed:0.5x", "skewed0.5", "balanced:0.5"})
    CHECK_MESSAGE(!parse_routing(wrong), wrong);
}

TEST_CASE("moe: balanced routing sends every expert and every rank the same") {
  const Router router = small("balanced");
  // Every fourth expert, one further with each token.
  CHECK(chosen(router, 0, 0) == std::vector<int32_t>{0, 4});
  CHECK(chosen(router, 0, 3) == std::vector<int32_t>{3, 7});
  CHECK(chosen(router, 1, 0) == std::vector<int32_t>{0, 4});
  // Two experts a rank: tokens 0 and 1 go to ranks 0 and 2, tokens 2 and 3 to ranks 1 and 3.
  const Sent sent = route(router, 3);
  CHECK(sent.tokens == std::vector<std::vector<int32_t>>{{0, 1}, {2, 3}, {0, 1}, {2, 3}});
  const Copies copies = copies_of(router);
  CHECK(load(copies).imbalance == 1);
  CHECK(load(copies).mean == 8);
  CHECK(busiest_rank(copies).sent == 6);
  CHECK(busiest_rank(copies).received == 6);
}

TEST_CASE("moe: all tokens on the first experts make one rank the bottleneck") {
  const Router router = small("skewed:1");
  CHECK(chosen(router, 2, 1) == std::vector<int32_t>{0, 1});
  // Both experts are on rank 0: the token is sent there once.
  CHECK(route(router, 2).tokens == std::vector<std::vector<int32_t>>{{0, 1, 2, 3}, {}, {}, {}});
  const Copies copies = copies_of(router);
  CHECK(load(copies).imbalance == 4);
  CHECK(load(copies).mean == 4);
  CHECK(load(copies).busiest == 0);
  CHECK(busiest_rank(copies).sent == 4);
  CHECK(busiest_rank(copies).received == 12);
}

TEST_CASE("moe: a share of the tokens is skewed, and the rest is routed as without") {
  Router router = small("skewed:0.3", 20000);
  router.experts = 64;
  Router plain = router;
  plain.routing.kind = RoutingKind::random;
  int first = 0, same = 0;
  for (int64_t t = 0; t < router.tokens; ++t) {
    const auto now = chosen(router, 1, t);
    first += now == std::vector<int32_t>{0, 1};
    same += now == chosen(plain, 1, t);
  }
  CHECK(first > 5700);
  CHECK(first < 6300);
  CHECK(first + same >= router.tokens);
  router.routing.share = 0;
  for (int64_t t = 0; t < 100; ++t) CHECK(chosen(router, 1, t) == chosen(plain, 1, t));
}

TEST_CASE("moe: a token chooses the experts with the highest scores, the best first") {
  Router router{.tokens = 64, .experts = 256, .top_k = 8, .ranks = 8};
  router.routing.seed = 7;
  for (int rank : {0, 5}) {
    for (int64_t t = 0; t < router.tokens; ++t) {
      const uint64_t token =
          mixed(mixed(7u ^ static_cast<uint64_t>(rank)) ^ static_cast<uint64_t>(t));
      std::vector<int32_t> all(256);
      for (int e = 0; e < 256; ++e) all[static_cast<size_t>(e)] = e;
      std::sort(all.begin(), all.end(), [&](int32_t a, int32_t b) {
        return mixed(token + static_cast<uint64_t>(a)) > mixed(token + static_cast<uint64_t>(b));
      });
      all.resize(8);
      CHECK(chosen(router, rank, t) == all);
      CHECK(std::set<int32_t>(all.begin(), all.end()).size() == 8);
    }
  }
}

TEST_CASE(
    "moe: random routing reaches the share of the ranks that chance says, and follows the seed") {
  Router router{.tokens = 4096, .experts = 256, .top_k = 8, .ranks = 8};
  double none = 1;  // no expert of a rank among eight
  for (int i = 0; i < 8; ++i) none *= (224.0 - i) / (256.0 - i);
  const Copies copies = copies_of(router);
  CHECK(load(copies).mean == doctest::Approx(8 * 4096 * (1 - none)).epsilon(0.01));
  CHECK(load(copies).imbalance > 1);
  CHECK(load(copies).imbalance < 1.03);
  const Sent again = route(router, 3);
  CHECK(again.experts == route(router, 3).experts);
  router.routing.seed = 2;
  CHECK(again.experts != route(router, 3).experts);
}

TEST_CASE("moe: a token is sent to a rank once, and to itself without a link") {
  Router router{.tokens = 500, .experts = 16, .top_k = 4, .ranks = 2};
  const Sent sent = route(router, 1);
  for (int64_t t = 0; t < router.tokens; ++t) {
    const std::span<const int32_t> experts(sent.experts.data() + t * 4, 4);
    for (int to = 0; to < 2; ++to) {
      const bool wanted =
          std::any_of(experts.begin(), experts.end(), [&](int32_t e) { return e / 8 == to; });
      const auto& there = sent.tokens[static_cast<size_t>(to)];
      CHECK(std::count(there.begin(), there.end(), t) == (wanted ? 1 : 0));
    }
  }
  Copies own(2);
  own.at(0, 0) = 9;
  own.at(0, 1) = 2;
  own.at(1, 0) = 3;
  CHECK(busiest_rank(own).sent == 3);
  CHECK(busiest_rank(own).received == 3);
  CHECK(load(own).busiest == 0);
  CHECK(load(own).mean == 7);
  CHECK(load(own).imbalance == doctest::Approx(12.0 / 7));
}

TEST_CASE("moe: a host sends what its ranks send to other hosts") {
  Copies copies(4);
  int64_t n = 1;
  for (int from = 0; from < 4; ++from) {
    for (int to = 0; to < 4; ++to) copies.at(from, to) = n++;
  }
  // 1 2 3 4 / 5 6 7 8 / 9 10 11 12 / 13 14 15 16, hosts {0, 1} and {2, 3}.
  const std::array<int, 4> two{0, 0, 1, 1};
  CHECK(busiest_host(copies, two).sent == 9 + 10 + 13 + 14);
  CHECK(busiest_host(copies, two).received == 9 + 10 + 13 + 14);
  // Rank 3 alone: it sends 42 and receives 24, the others the reverse.
  const std::array<int, 4> uneven{0, 0, 0, 1};
  CHECK(busiest_host(copies, uneven).sent == 42);
  CHECK(busiest_host(copies, uneven).received == 42);
  const std::array<int, 4> one{0, 0, 0, 0};
  CHECK(busiest_host(copies, one).sent == 0);
  CHECK(busiest_host(copies, one).received == 0);
}

TEST_CASE("moe: bytes of a token") {
  const TokenFormat fp8{.hidden = 7168, .dispatch_bytes = 1, .combine_bytes = 2};
  CHECK(fp8.scales() == 56);
  CHECK(fp8.dispatch_payload() == 7392);
  CHECK(fp8.dispatch_row(8) == 7472);  // 7392 + 4 + 4 + 32 + 32 = 7464, up to 16
  CHECK(fp8.combine_payload() == 14336);
  const TokenFormat bf16{.hidden = 7168, .dispatch_bytes = 2, .combine_bytes = 4};
  CHECK(bf16.scales() == 0);
  CHECK(bf16.dispatch_payload() == 14336);
  CHECK(bf16.dispatch_row(1) == 14352);  // 14336 + 16: nothing to round
  CHECK(bf16.combine_payload() == 28672);
  CHECK(weight_of_place(3, 8) == 2);
  CHECK(weight_of_place(4, 8) == 1);
  CHECK(weight_of_place(0, 1) == 2);
}
