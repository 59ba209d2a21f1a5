// Softmax of causal scores and its backward, against the formulas in double precision.
#include "tests/unit/kernels/train_data.h"

using namespace cb::kernels;
using namespace train_data;
using on_executor::in_every_order;

namespace {

struct ScoreRows {
  std::int64_t heads, rows, columns, first;
};
// Whole triangles, a block of later rows, a row that sees one column, and columns beyond a block.
constexpr ScoreRows kScoreBlocks[] = {{1, 1, 1, 0}, {2, 5, 5, 0}, {3, 4, 11, 7}, {1, 2, 300, 298}};
constexpr std::int64_t kApart = 19;  // log sums of neighbouring heads

}  // namespace

TEST_CASE("scores become probabilities, and again from their log sums") {
  for (const ScoreRows& b : kScoreBlocks) {
    CAPTURE(b.columns);
    in_every_order([&] {
      DeviceArray<float> scores(at(b.heads * b.rows * b.columns), "scores"),
          sums(at((b.heads - 1) * kApart + b.rows), "sums");
      fill(scores, 1);
      for (float& x : scores) x *= 20;
      if (b.heads == 3) scores[at(b.columns + 2)] = kNan;  // row 1 sees it
      if (b.heads == 2) scores[at(b.columns - 1)] = kNan;  // row 0 does not
      std::vector<double> wanted(scores.size()), want_sums;
      for (std::int64_t h = 0; h < b.heads; ++h)
        for (std::int64_t r = 0; r < b.rows; ++r) {
          double sum = 0;
          const std::int64_t row = (h * b.rows + r) * b.columns;
          for (std::int64_t i = 0; i <= b.first + r; ++i)
            sum += std::exp(static_cast<double>(scores[at(row + i)]));
          want_sums.push_back(std::log(sum));
          for (std::int64_t i = 0; i <= b.first + r; ++i)
            wanted[at(row + i)] = std::exp(static_cast<double>(scores[at(row + i)])) / sum;
        }
      const std::vector<float> before(scores.begin(), scores.end());
      const TrainScores s{scores.data(), sums.data(), b.heads, b.rows, b.columns, b.first, kApart};
      REQUIRE(launch_train_softmax(s, nullptr) == 0);
      CHECK(wrong(scores, wanted) == 0);
      for (std::int64_t h = 0; h < b.heads; ++h)
        for (std::int64_t r = 0; r < b.rows; ++r) {
          const double want = want_sums[at(h * b.rows + r)];
          const auto got = static_cast<double>(sums[at(h * kApart + r)]);
          CHECK((std::isnan(want) ? std::isnan(got) : std::abs(got - want) <= 2e-5));
        }
      std::copy(before.begin(), before.end(), scores.begin());
      REQUIRE(launch_train_probabilities(s, nullptr) == 0);
      CHECK(wrong(scores, wanted, 1e-5) == 0);
    });
  }
}

TEST_CASE("gradients of probabilities become those of scores") {
  for (const ScoreRows& b : kScoreBlocks) {
    CAPTURE(b.columns);
    constexpr std::int64_t dim = 5;
    const std::int64_t stride = b.heads * dim + 3;
    in_every_order([&] {
      DeviceArray<float> dp(at(b.heads * b.rows * b.columns), "dp"), p(dp.size(), "p"),
          out(at(b.rows * stride), "out"), dout(out.size(), "dout");
      fill(dp, 1);
      fill(p, 2);
      fill(out, 3);
      fill(dout, 4);
      if (b.heads == 3) dout[at(stride + dim)] = kNan;  // of head 1, row 1
      std::vector<double> wanted(dp.size());
      for (std::int64_t h = 0; h < b.heads; ++h)
        for (std::int64_t r = 0; r < b.rows; ++r) {
          double dot = 0;
          for (std::int64_t i = 0; i < dim; ++i) {
            const std::size_t here = at(r * stride + h * dim + i);
            dot += static_cast<double>(out[here]) * static_cast<double>(dout[here]);
          }
          for (std::int64_t i = 0; i < b.columns; ++i) {
            const std::size_t here = at((h * b.rows + r) * b.columns + i);
            wanted[here] =
                static_cast<double>(p[here]) * (static_cast<double>(dp[here]) - dot) * 0.25;
          }
        }
      REQUIRE(launch_train_softmax_backward({dp.data(), p.data(), out.data(), dout.data(), b.heads,
                                             b.rows, b.columns, dim, stride, 0.25F},
                                            nullptr) == 0);
      CHECK(wrong(dp, wanted) == 0);
    });
  }
}
