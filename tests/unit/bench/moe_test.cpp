#include <cmath>
#include <cstring>
#include <limits>

#include <doctest/doctest.h>

#include "bench/collectives/moe/options.h"
#include "bench/collectives/moe/routes.h"
#include "bench/collectives/moe/row_exchange.h"
#include "bench/collectives/moe/token_data.h"

using namespace cb;
using namespace cb::moe;

namespace {

constexpr int64_t kHidden = 256;

Router moe_router(int ranks) { return {.tokens = 40, .experts = 16, .top_k = 4, .ranks = ranks}; }

// What the ranks of `router` make of a token of rank 0, added in their order.
std::vector<float> sum_over_ranks(const TokenData& data, const Router& router, int32_t token) {
  std::vector<float> sum(kHidden);
  std::vector<int32_t> all(4), here(4);
  router.choose(0, token, all);
  for (int to = 0; to < router.ranks; ++to) {
    mask_experts(router, to, all, here);
    std::vector<std::byte> row(data.row_bytes());
    data.write_payload({0, token, 5}, row.data());
    data.write_label({0, token, 5}, here, row.data());
    std::vector<std::byte> result(static_cast<size_t>(data.format().combine_payload()));
    data.apply_experts(row.data(), result.data());
    data.add(result.data(), sum);
  }
  return sum;
}

}  // namespace

TEST_CASE("moe: the sums are exact in every type and for every division among ranks") {
  for (const int dispatch : {1, 2}) {
    for (const int combine : {2, 4}) {
      const TokenFormat format{
          .hidden = kHidden, .dispatch_bytes = dispatch, .combine_bytes = combine};
      const TokenData data(format, 16, 4, 3);
      for (int32_t token = 0; token < 20; ++token) {
        std::vector<float> expected(kHidden);
        std::vector<int32_t> experts(4);
        moe_router(1).choose(0, token, experts);
        data.expected_sum({0, token, 5}, experts, expected);
        for (const int ranks : {1, 2, 4, 16})
          CHECK(sum_over_ranks(data, moe_router(ranks), token) == expected);
      }
    }
  }
}

// The largest sum that can come of sixteen experts is still exact: 16 · 2 · 2 · 4 = 256.
TEST_CASE("moe: sixteen experts of one rank fit into bf16") {
  const TokenFormat format{.hidden = kHidden, .dispatch_bytes = 2, .combine_bytes = 2};
  const TokenData data(format, 16, 16, 9);
  std::vector<int32_t> all(16);
  for (int32_t e = 0; e < 16; ++e) all[static_cast<size_t>(e)] = e;
  for (int32_t token = 0; token < 50; ++token) {
    std::vector<std::byte> row(data.row_bytes()), result(2 * kHidden);
    data.write_payload({1, token, 1}, row.data());
    data.write_label({1, token, 1}, all, row.data());
    data.apply_experts(row.data(), result.data());
    std::vector<float> sum(kHidden), expected(kHidden);
    data.add(result.data(), sum);
    data.expected_sum({1, token, 1}, all, expected);
    CHECK(sum == expected);
  }
}

TEST_CASE("moe: an element and a scale have the bits of their type") {
  const TokenData fp8({.hidden = 128, .dispatch_bytes = 1, .combine_bytes = 4}, 1, 1, 1);
  std::vector<std::byte> row(fp8.row_bytes());
  const int32_t expert = 0;
  fp8.write_label({0, 0, 1}, {&expert, 1}, row.data());
  const float scale = 0.5F;
  std::memcpy(row.data() + 128, &scale, 4);
  // 1, −4, the largest number 448 and the smallest 2⁻⁹, then no number.
  const uint8_t codes[] = {0x38, 0xc8, 0x7e, 0x01, 0x7f};
  const float values[] = {1, -4, 448, 0x1p-9F, std::numeric_limits<float>::quiet_NaN()};
  for (size_t i = 0; i < 5; ++i) std::memcpy(row.data() + i, &codes[i], 1);
  std::vector<std::byte> result(4 * 128);
  fp8.apply_experts(row.data(), result.data());
  for (size_t i = 0; i < 4; ++i) {
    float got = 0;
    std::memcpy(&got, result.data() + 4 * i, 4);
    const float factor = got / (2 * scale * values[i]);  // the only expert's weight is 2
    CHECK((std::abs(factor) == 1 || std::abs(factor) == 2));
  }
  float none = 0;
  std::memcpy(&none, result.data() + 4 * 4, 4);
  CHECK(std::isnan(none));
}

TEST_CASE("moe: tokens differ by rank, number and iteration, and so do the experts") {
  const TokenFormat format{.hidden = kHidden, .dispatch_bytes = 1, .combine_bytes = 4};
  const TokenData data(format, 16, 4, 3);
  const auto payload = [&](const TokenId& id) {
    std::vector<std::byte> out(static_cast<size_t>(format.dispatch_payload()));
    data.write_payload(id, out.data());
    return out;
  };
  CHECK(payload({0, 1, 2}) == payload({0, 1, 2}));
  CHECK(payload({0, 1, 2}) != payload({1, 1, 2}));
  CHECK(payload({0, 1, 2}) != payload({0, 2, 2}));
  CHECK(payload({0, 1, 2}) != payload({0, 1, 3}));
  std::vector<float> a(kHidden), b(kHidden);
  const std::vector<int32_t> some{0, 1, 2, 3}, other{0, 1, 2, 4}, turned{3, 2, 1, 0};
  data.expected_sum({0, 1, 2}, some, a);
  data.expected_sum({0, 1, 2}, other, b);
  CHECK(a != b);
  data.expected_sum({0, 1, 2}, turned, b);  // other weights
  CHECK(a != b);
}

TEST_CASE("moe: a row says whose token it is and for which experts it came") {
  const TokenData data({.hidden = 128, .dispatch_bytes = 1, .combine_bytes = 2}, 16, 4, 1);
  std::vector<std::byte> row(data.row_bytes(), std::byte{0xff});
  const std::vector<int32_t> experts{-1, 7, -1, 6};
  data.write_label({3, 17, 1}, experts, row.data());
  const TokenData::Label label = data.label(row.data());
  CHECK(label == data.expected_label({3, 17, 9}, experts));
  CHECK(label.rank == 3);
  CHECK(label.token == 17);
  CHECK(label.experts == experts);
  CHECK(label.weights == std::vector<float>{0, 2, 0, 1});
  CHECK(row.back() == std::byte{0});  // behind the label, where a row is rounded up
}

TEST_CASE("moe: what comes is known from the routing of all ranks") {
  const Router router{.tokens = 4,
                      .experts = 8,
                      .top_k = 2,
                      .ranks = 4,
                      .routing = parse_routing("balanced").value()};
  const Routes routes(router, 2);
  // Rank 2 has experts 4 and 5: tokens 0 and 1 of every rank, as their second choice.
  CHECK(routes.rows_in() == 8);
  CHECK(routes.rows_out() == 8);
  for (const auto& of_rank : routes.incoming) {
    REQUIRE(of_rank.size() == 2);
    CHECK(of_rank[1].token == 1);
    CHECK(of_rank[1].experts == std::vector<int32_t>{-1, 5});
  }
}

TEST_CASE("moe: blocks of rows lie one behind the other, up to what MPI counts") {
  const RowBlocks blocks{{2, 0, 3}, 16};
  CHECK(blocks.bytes() == 80);
  const int64_t most = std::numeric_limits<int>::max();
  CHECK(RowExchange::countable({{most}, 8}));
  CHECK(!RowExchange::countable({{most, 1}, 8}));
}

TEST_CASE("moe: a fault is read, and anything else is refused") {
  CHECK(parse_moe_fault("3")->kind == FaultKind::element);
  CHECK(parse_moe_fault("3")->rank == 3);
  CHECK(parse_moe_fault("token@1")->kind == FaultKind::token);
  CHECK(parse_moe_fault("expert@0")->kind == FaultKind::expert);
  CHECK(parse_moe_fault("sum@2")->kind == FaultKind::sum);
  for (const char* wrong : {"", "-1", "@1", "tokens@1", "token@", "token@x", "token@-1", "token:1"})
    CHECK_MESSAGE(!parse_moe_fault(wrong), wrong);
}
