// AdamW, norm, hash, planted faults and the first weights, against the host.
#include <bit>
#include <cstring>
#include <numbers>

#include "tests/unit/kernels/train_data.h"

using namespace cb::kernels;
using namespace train_data;
using on_executor::in_every_order;

TEST_CASE("AdamW changes weights and moments, and leaves the gradient") {
  for (const std::size_t count : {0, 1, 255, 770}) {
    CAPTURE(count);
    in_every_order([&] {
      DeviceArray<float> w(count, "w"), g(count, "g"), m(count, "m"), v(count, "v");
      fill(w, 1);
      fill(g, 2);
      fill(m, 3);
      fill(v, 4);
      for (float& x : v) x *= x;
      if (count == 255) g[13] = kNan;
      const TrainAdam a{0.9F, 0.95F, 0.01F, 1.5F, 1e-8F, 0.999F, 0.5F};
      const std::vector<double> gradient = values_of(g);
      std::vector<double> want_w = values_of(w), want_m = values_of(m), want_v = values_of(v);
      for (std::size_t i = 0; i < count; ++i) {
        const double scaled = 0.5 * gradient[i];
        want_m[i] = 0.9 * want_m[i] + 0.1 * scaled;
        want_v[i] = 0.95 * want_v[i] + 0.05 * scaled * scaled;
        want_w[i] = 0.999 * want_w[i] - 0.01 * want_m[i] / (std::sqrt(1.5 * want_v[i]) + 1e-8);
      }
      REQUIRE(launch_train_adamw(
                  {w.data(), g.data(), m.data(), v.data(), static_cast<std::int64_t>(count)}, a,
                  nullptr) == 0);
      CHECK(wrong(w, want_w) == 0);
      CHECK(wrong(m, want_m) == 0);
      CHECK(wrong(v, want_v) == 0);
      CHECK(wrong(g, gradient, 0) == 0);
    });
  }
}

TEST_CASE("squares are summed in an order that the count alone decides") {
  // Below, at and behind a part of 16384 elements.
  for (const std::size_t count : {0, 1, 16384, 16385, 40000}) {
    CAPTURE(count);
    double first = -1, wanted = 0;
    for (std::size_t i = 0; i < count; ++i)
      wanted += static_cast<double>(number(i, 1)) * static_cast<double>(number(i, 1));
    in_every_order([&] {
      const auto elements = static_cast<std::int64_t>(count);
      DeviceArray<float> x(count, "x");
      DeviceArray<double> parts(static_cast<std::size_t>(train_sum_parts(elements)), "parts"),
          out(1, "out");
      fill(x, 1);
      REQUIRE(launch_train_squares(x.data(), elements, parts.data(), out.data(), nullptr) == 0);
      CHECK(out[0] == doctest::Approx(wanted).epsilon(1e-12));
      if (first < 0) first = out[0];
      CHECK(out[0] == first);  // the same bits
      if (count == 0) return;
      x[count / 2] = kNan;
      REQUIRE(launch_train_squares(x.data(), elements, parts.data(), out.data(), nullptr) == 0);
      CHECK(std::isnan(out[0]));
    });
  }
}

TEST_CASE("hash and count of what is not finite, from any element on") {
  for (const std::size_t count : {1, 2, 7, 513, 1026}) {
    for (const std::size_t offset : {0, 4}) {
      CAPTURE(count);
      CAPTURE(offset);
      in_every_order([&] {
        DeviceArray<float> x(count, "x", offset);
        DeviceArray<HashResult> result(1, "result");
        fill(x, 1);
        const auto run = [&] {
          return launch_train_hash(x.data(), static_cast<std::int64_t>(count), result.data(),
                                   nullptr);
        };
        const auto on_host = [&] {
          return hash_bytes(reinterpret_cast<const unsigned char*>(x.data()), 4 * count);
        };
        REQUIRE(run() == 0);
        CHECK(result[0].hash == on_host());
        CHECK(result[0].not_finite == 0);
        x[count - 1] = kNan;
        x[0] = -std::numeric_limits<float>::infinity();
        REQUIRE(run() == 0);
        CHECK(result[0].hash == on_host());
        CHECK(result[0].not_finite == (count == 1 ? 1 : 2));
      });
    }
  }
}

TEST_CASE("a planted fault is one bit, or no number") {
  DeviceArray<float> x(3, "x");
  x[0] = x[1] = x[2] = 1.0F;
  REQUIRE(launch_train_damage(x.data() + 1, false, nullptr) == 0);
  CHECK(x[1] == 1.5F);  // the highest bit of the fraction
  REQUIRE(launch_train_damage(x.data() + 1, true, nullptr) == 0);
  CHECK(std::isnan(x[1]));
  CHECK(x[0] == 1.0F);
  CHECK(x[2] == 1.0F);
}

namespace {

// SplitMix64 written out: what src/bench/cpu/random.h gives.
std::uint64_t mixed_by_hand(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

float normal_by_hand(std::uint64_t stream, std::uint64_t place, double deviation) {
  std::uint64_t state = mixed_by_hand(mixed_by_hand(stream + 1) ^ (place + 1));
  double unit[2];
  for (double& u : unit)
    u = static_cast<double>(mixed_by_hand(state += 0x9e3779b97f4a7c15U) >> 11) * 0x1p-53;
  return static_cast<float>(deviation * std::sqrt(-2 * std::log(1 - unit[0])) *
                            std::cos(2 * std::numbers::pi * unit[1]));
}

}  // namespace

TEST_CASE("normal numbers depend on their place in the whole matrix") {
  constexpr std::int64_t rows = 7, columns = 45, first_row = 3, first_column = 20, whole = 101;
  in_every_order([&] {
    DeviceArray<float> to(rows * columns, "to");
    REQUIRE(launch_train_normal({to.data(), rows, columns, first_row, first_column, whole, 5, 0.02},
                                nullptr) == 0);
    std::vector<double> wanted;
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j)
        wanted.push_back(static_cast<double>(normal_by_hand(
            5, static_cast<std::uint64_t>((first_row + i) * whole + first_column + j), 0.02)));
    CHECK(wrong(to, wanted, 1e-9) == 0);
  });
}
