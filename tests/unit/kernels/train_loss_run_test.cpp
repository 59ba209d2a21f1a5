// Embedding and cross entropy against the formulas in double precision.
#include <numeric>

#include "tests/unit/kernels/train_data.h"

using namespace cb::kernels;
using namespace train_data;
using on_executor::in_every_order;

namespace {

// The part of a vocabulary from token 10 on; every token comes, also of other parts.
constexpr std::int64_t kFirst = 10;

void fill_tokens(DeviceArray<std::int32_t>& tokens, std::int64_t width) {
  for (std::size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<std::int32_t>((7 * i) % at(width + 4)) + 8;
}

}  // namespace

TEST_CASE("rows of the table, and gradients to them in the order of the tokens") {
  for (const std::int64_t width : {1, 63, 300}) {
    constexpr std::int64_t rows = 41, count = 9;
    CAPTURE(width);
    in_every_order([&] {
      DeviceArray<std::int32_t> tokens(rows, "tokens");
      DeviceArray<float> table(at(count * width), "table"), out(at(rows * width), "out");
      fill_tokens(tokens, count);
      fill(table, 1);
      if (width == 63) table[4] = kNan;
      const TrainEmbedding e{tokens.data(), rows, width, kFirst, count};
      REQUIRE(launch_train_embed(table.data(), out.data(), e, nullptr) == 0);
      std::vector<double> wanted(out.size());
      std::vector<float> summed(table.begin(), table.end());
      std::int64_t others = 0;
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t token = tokens[at(r)] - kFirst;
        if (token < 0 || token >= count) {
          ++others;
          continue;
        }
        for (std::int64_t i = 0; i < width; ++i)
          wanted[at(r * width + i)] = static_cast<double>(table[at(token * width + i)]);
      }
      CHECK(others > 0);
      CHECK(wrong(out, wanted, 0) == 0);
      fill(out, 2);
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t token = tokens[at(r)] - kFirst;
        for (std::int64_t i = 0; i < width && token >= 0 && token < count; ++i)
          summed[at(token * width + i)] += out[at(r * width + i)];
      }
      REQUIRE(launch_train_embed_backward(out.data(), table.data(), e, nullptr) == 0);
      // Sums in another order would differ in the last place.
      CHECK(wrong(table, {summed.begin(), summed.end()}, 0) == 0);
    });
  }
}

TEST_CASE("cross entropy by its steps, and its gradient") {
  for (const std::int64_t width : {1, 31, 256, 301}) {
    constexpr std::int64_t rows = 5;
    CAPTURE(width);
    in_every_order([&] {
      DeviceArray<float> logits(at(rows * width), "logits"), top(rows, "top"), sums(rows, "sums"),
          at_target(rows, "at_target");
      DeviceArray<std::int32_t> targets(rows, "targets");
      DeviceArray<double> loss(1, "loss");
      fill(logits, 1);
      for (float& x : logits) x *= 30;
      for (std::int64_t r = 0; r < rows; ++r)
        targets[at(r)] = static_cast<std::int32_t>(kFirst + r * width / (rows - 1));
      const std::int64_t other = rows - 1;  // its target is behind the last
      const std::vector<float> x(logits.begin(), logits.end());
      const TrainLogits l{logits.data(),    targets.data(), top.data(), sums.data(),
                          at_target.data(), rows,           width,      kFirst};
      REQUIRE(launch_train_row_max(l, nullptr) == 0);
      std::vector<double> want_top, want_sums, want_target, want_e, want_gradient;
      double want_loss = 0;
      for (std::int64_t r = 0; r < rows; ++r) {
        const auto begin = x.begin() + r * width;
        const auto most = static_cast<double>(*std::max_element(begin, begin + width));
        double sum = 0;
        for (std::int64_t i = 0; i < width; ++i) {
          want_e.push_back(std::exp(static_cast<double>(begin[i]) - most));
          sum += want_e.back();
        }
        const std::int64_t target = targets[at(r)] - kFirst;
        want_top.push_back(most);
        want_sums.push_back(sum);
        want_target.push_back(r == other ? 0 : static_cast<double>(begin[target]) - most);
        want_loss += std::log(sum) - want_target.back();
        for (std::int64_t i = 0; i < width; ++i)
          want_gradient.push_back(
              0.5 * (want_e[at(r * width + i)] / sum - (r != other && i == target ? 1 : 0)));
      }
      CHECK(wrong(top, want_top, 0) == 0);
      REQUIRE(launch_train_exponentials(l, nullptr) == 0);
      CHECK(wrong(logits, want_e, 1e-5) == 0);
      CHECK(wrong(sums, want_sums, 1e-5) == 0);
      CHECK(wrong(at_target, want_target, 1e-5) == 0);
      REQUIRE(launch_train_cross_entropy(l, loss.data(), nullptr) == 0);
      CHECK(loss[0] == doctest::Approx(want_loss).epsilon(1e-5));
      REQUIRE(launch_train_logits_backward(l, 0.5F, nullptr) == 0);
      CHECK(wrong(logits, want_gradient, 1e-5) == 0);
    });
  }
}

TEST_CASE("a NaN among the logits reaches sum, loss and gradient of its row alone") {
  constexpr std::int64_t rows = 2, width = 40;
  DeviceArray<float> logits(rows * width, "logits"), top(rows, "top"), sums(rows, "sums"),
      at_target(rows, "at_target");
  DeviceArray<std::int32_t> targets(rows, "targets");
  DeviceArray<double> loss(1, "loss");
  fill(logits, 1);
  targets[0] = targets[1] = kFirst;
  logits[width + 17] = kNan;
  const TrainLogits l{logits.data(),    targets.data(), top.data(), sums.data(),
                      at_target.data(), rows,           width,      kFirst};
  REQUIRE(launch_train_row_max(l, nullptr) == 0);
  REQUIRE(launch_train_exponentials(l, nullptr) == 0);
  REQUIRE(launch_train_cross_entropy(l, loss.data(), nullptr) == 0);
  REQUIRE(launch_train_logits_backward(l, 1, nullptr) == 0);
  CHECK(std::isfinite(sums[0]));
  CHECK(std::isnan(sums[1]));
  CHECK(std::isnan(loss[0]));
  std::int64_t in_first = 0, in_second = 0;
  for (std::int64_t i = 0; i < width; ++i) {
    in_first += std::isnan(logits[at(i)]);
    in_second += std::isnan(logits[at(width + i)]);
  }
  CHECK(in_first == 0);
  CHECK(in_second == width);
}
