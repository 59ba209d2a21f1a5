// Dispatch and combine on one rank's GPU, against loops over its tokens.
#include <bit>
#include <cstring>
#include <vector>

#include "kernels/moe.h"
#include "kernels/pattern.h"
#include "tests/unit/kernels/on_executor.h"

using namespace cb::kernels;
using on_executor::DeviceArray;
using on_executor::in_every_order;

namespace {

struct MoeShape {
  std::int64_t tokens;
  std::int32_t experts, top_k, ranks;
  std::int64_t payload;  // 132: no whole vectors of 16 bytes
};
// Around a warp and a block; all experts on one rank; ranks without a token.
constexpr MoeShape kMoeShapes[] = {{1, 4, 2, 2, 132},   {31, 6, 3, 3, 132},
                                   {256, 8, 2, 4, 264}, {257, 16, 5, 8, 132},
                                   {600, 4, 3, 1, 132}, {40, 64, 1, 64, 1056}};

std::size_t sized(std::int64_t n) { return static_cast<std::size_t>(n); }

// One rank's tokens, and what must become of them.
struct MoeLayer {
  explicit MoeLayer(const MoeShape& c)
      : shape(c),
        row_bytes((c.payload + 8 + 8 * c.top_k + 15) / 16 * 16),
        experts(sized(c.tokens * c.top_k), "experts"),
        places(sized(c.tokens * c.ranks), "places"),
        counts(sized(c.ranks), "counts"),
        weights(sized(c.tokens * c.top_k), "weights") {
    for (std::int64_t i = 0; i < c.tokens * c.top_k; ++i) {
      // Different ones of a token, none of the last rank where there are several.
      const std::int32_t chosen = c.ranks > 1 ? c.experts - c.experts / c.ranks : c.experts;
      const auto first = static_cast<std::int32_t>(pattern_word(sized(i / c.top_k), 3) % 1000);
      experts[sized(i)] = (first + static_cast<std::int32_t>(i % c.top_k)) % chosen;
      weights[sized(i)] = static_cast<float>(i % 5) - 2.0F;
      places[sized(i % (c.tokens * c.ranks))] = 77;
    }
    of_rank.resize(sized(c.ranks));
    for (std::int64_t t = 0; t < c.tokens; ++t)
      for (std::int32_t r = 0; r < c.ranks; ++r)
        if (goes(t, r)) of_rank[sized(r)].push_back(t);
  }

  std::int32_t rank_of(std::int64_t token, std::int64_t choice) {
    return experts[sized(token * shape.top_k + choice)] / (shape.experts / shape.ranks);
  }
  bool goes(std::int64_t token, std::int32_t rank) {
    for (std::int64_t i = 0; i < shape.top_k; ++i)
      if (rank_of(token, i) == rank) return true;
    return false;
  }
  MoeRoutes routes() {
    return {experts.data(), shape.tokens, shape.top_k, shape.ranks, shape.experts / shape.ranks,
            places.data(),  counts.data()};
  }
  std::int64_t rows() const {
    std::size_t all = 0;
    for (const auto& tokens : of_rank) all += tokens.size();
    return static_cast<std::int64_t>(all);
  }

  MoeShape shape;
  std::int64_t row_bytes;
  DeviceArray<std::int32_t> experts, places, counts;
  DeviceArray<float> weights;
  std::vector<std::vector<std::int64_t>> of_rank;
};

std::vector<unsigned char> wanted_moe_row(MoeLayer& l, const DeviceArray<unsigned char>& token,
                                          std::int64_t t, std::int32_t to, std::int32_t self) {
  const MoeShape& c = l.shape;
  std::vector<unsigned char> out(sized(l.row_bytes));
  for (std::int64_t i = 0; i < c.payload; ++i) out[sized(i)] = token[sized(t * c.payload + i)];
  std::vector<std::uint32_t> label{static_cast<std::uint32_t>(self), static_cast<std::uint32_t>(t)};
  for (std::int64_t i = 0; i < c.top_k; ++i)
    label.push_back(l.rank_of(t, i) == to
                        ? static_cast<std::uint32_t>(l.experts[sized(t * c.top_k + i)])
                        : 0xffffffffU);
  for (std::int64_t i = 0; i < c.top_k; ++i)
    label.push_back(l.rank_of(t, i) == to
                        ? std::bit_cast<std::uint32_t>(l.weights[sized(t * c.top_k + i)])
                        : 0U);
  std::memcpy(out.data() + c.payload, label.data(), 4 * label.size());
  return out;
}

}  // namespace

TEST_CASE("moe: each token has its place among those that go to a rank") {
  for (const MoeShape& c : kMoeShapes) {
    CAPTURE(c.tokens);
    in_every_order([&] {
      MoeLayer l(c);
      REQUIRE(launch_moe_places(l.routes(), nullptr) == 0);
      for (std::int32_t r = 0; r < c.ranks; ++r) {
        CHECK(l.counts[sized(r)] == static_cast<std::int32_t>(l.of_rank[sized(r)].size()));
        std::int32_t next = 0;
        for (std::int64_t t = 0; t < c.tokens; ++t)
          REQUIRE(l.places[sized(t * c.ranks + r)] == (l.goes(t, r) ? next++ : -1));
      }
    });
  }
}

TEST_CASE("moe: rows lie by receiving rank, and each has its token, label and zeros") {
  constexpr std::int32_t self = 5;
  for (const MoeShape& c : kMoeShapes) {
    CAPTURE(c.tokens);
    in_every_order([&] {
      MoeLayer l(c);
      DeviceArray<unsigned char> token(sized(c.tokens * c.payload), "token"),
          row(sized(l.rows() * l.row_bytes), "row");
      for (std::size_t i = 0; i < token.size(); ++i)
        token[i] = static_cast<unsigned char>(pattern_word(i, 9));
      for (unsigned char& byte : row) byte = 0x5a;
      REQUIRE(launch_moe_places(l.routes(), nullptr) == 0);
      REQUIRE(launch_moe_pack({l.routes(), l.weights.data(), token.data(), row.data(), c.payload,
                               l.row_bytes, self},
                              nullptr) == 0);
      std::int64_t at = 0;
      for (std::int32_t to = 0; to < c.ranks; ++to)
        for (const std::int64_t t : l.of_rank[sized(to)]) {
          const auto wanted = wanted_moe_row(l, token, t, to, self);
          REQUIRE(std::memcmp(row.data() + at, wanted.data(), wanted.size()) == 0);
          at += l.row_bytes;
        }
      CHECK(at == static_cast<std::int64_t>(row.size()));
    });
  }
}

TEST_CASE("moe: rows that come back are added in the order of the ranks, bit by bit") {
  constexpr std::int64_t width = 1100;  // more than a round of a block's threads
  for (const MoeShape& c : kMoeShapes) {
    if (c.tokens > 300) continue;
    for (const int narrow : {0, 1}) {
      CAPTURE(c.tokens);
      CAPTURE(narrow);
      in_every_order([&] {
        MoeLayer l(c);
        DeviceArray<std::uint32_t> rows(sized(l.rows() * width / (narrow != 0 ? 2 : 1)), "rows");
        DeviceArray<float> sum(sized(c.tokens * width), "sum");
        // Numbers of many sizes: another order gives other bits.
        for (std::size_t i = 0; i < rows.size(); ++i)
          rows[i] = static_cast<std::uint32_t>(pattern_word(i, 11)) & 0xbfffbfffU;
        for (float& one : sum) one = 7;
        const auto element = [&](std::int64_t i) {
          if (narrow == 0) return std::bit_cast<float>(rows[sized(i)]);
          return std::bit_cast<float>(i % 2 == 0 ? rows[sized(i / 2)] << 16
                                                 : rows[sized(i / 2)] & 0xffff0000U);
        };
        REQUIRE(launch_moe_places(l.routes(), nullptr) == 0);
        REQUIRE(launch_moe_add({l.routes(), rows.data(), sum.data(), width, narrow}, nullptr) == 0);
        std::vector<float> wanted(sum.size());
        std::int64_t row = 0;
        for (const auto& tokens : l.of_rank)
          for (const std::int64_t t : tokens) {
            for (std::int64_t i = 0; i < width; ++i)
              wanted[sized(t * width + i)] += element(row * width + i);
            ++row;
          }
        CHECK(std::memcmp(sum.data(), wanted.data(), 4 * wanted.size()) == 0);
      });
    }
  }
}

TEST_CASE("moe: no token is nothing to do, and nobody gets a row") {
  DeviceArray<std::int32_t> experts(1, "experts"), places(1, "places"), counts(3, "counts");
  const MoeRoutes none{experts.data(), 0, 2, 3, 4, places.data(), counts.data()};
  for (std::int32_t& one : counts) one = 9;
  REQUIRE(launch_moe_places(none, nullptr) == 0);
  for (const std::int32_t one : counts) CHECK(one == 0);
  CHECK(launch_moe_pack({none, nullptr, nullptr, nullptr, 132, 176, 0}, nullptr) == 0);
  CHECK(launch_moe_add({none, nullptr, nullptr, 128, 0}, nullptr) == 0);
}
