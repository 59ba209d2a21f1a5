// Matrices rounded to eight bits, against the format's definition in double precision.
#include <cuda_fp8.h>

#include <optional>

#include "tests/unit/kernels/train_data.h"

using namespace cb::kernels;
using namespace train_data;
using on_executor::in_every_order;

namespace {

struct Case {
  std::int64_t rows, columns, leading;
  bool gradient;
};
// Within a tile, at its edge, beyond it either way; with and without gaps.
constexpr Case kCases[] = {{16, 16, 16, false},   {64, 64, 64, true},    {80, 48, 48, false},
                           {144, 208, 208, true}, {48, 144, 160, false}, {208, 16, 36, true}};

std::uint8_t bits_of(float value, bool gradient) {
  return gradient ? __nv_fp8_e5m2(value).__x : __nv_fp8_e4m3(value).__x;
}

struct Rounding {
  explicit Rounding(const Case& c)
      : from(at(c.rows * c.leading), "from"),
        plain(at(c.rows * c.columns), "plain"),
        turned(at(c.rows * c.columns), "turned"),
        unit(1, "unit"),
        matrix{from.data(), plain.data(), turned.data(), unit.data(),
               c.rows,      c.columns,    c.leading,     c.gradient} {
    fill(from, 1);
  }
  // Elements that differ from the format's, which are multiples of `scale`⁻¹.
  std::size_t wrong(float scale) const {
    std::size_t out = 0;
    for (std::int64_t r = 0; r < matrix.rows; ++r)
      for (std::int64_t c = 0; c < matrix.columns; ++c) {
        const std::uint8_t want =
            bits_of(matrix.from[r * matrix.leading + c] * scale, matrix.gradient);
        out += matrix.plain != nullptr && matrix.plain[r * matrix.columns + c] != want;
        out += matrix.turned != nullptr && matrix.turned[c * matrix.rows + r] != want;
      }
    return out;
  }

  DeviceArray<float> from;
  DeviceArray<std::uint8_t> plain, turned;
  DeviceArray<TrainUnit> unit;
  TrainEight matrix;
};

}  // namespace

TEST_CASE("the largest element becomes the format's largest number, both ways") {
  for (const Case& c : kCases) {
    CAPTURE(c.rows);
    CAPTURE(c.columns);
    in_every_order([&] {
      Rounding r(c);
      for (std::int64_t i = 0; i < c.rows;
           ++i)  // what lies in the gaps is larger, and is not looked at
        for (std::int64_t j = c.columns; j < c.leading; ++j) r.from[at(i * c.leading + j)] = 50;
      r.from[at((c.rows - 1) * c.leading + c.columns - 1)] = -3;
      REQUIRE(launch_train_eight(r.matrix, nullptr) == 0);
      const float most = c.gradient ? 57344 : 448;
      CHECK(r.wrong(most / 3) == 0);
      CHECK(r.unit[0].unit == doctest::Approx(3.0 / most).epsilon(1e-6));
      CHECK(r.plain[at(c.rows * c.columns - 1)] == bits_of(-most, c.gradient));
    });
  }
}

TEST_CASE("one way alone leaves the other's memory as it is") {
  for (const bool turned : {false, true}) {
    Rounding r({80, 48, 48, false});
    (turned ? r.matrix.plain : r.matrix.turned) = nullptr;
    for (std::uint8_t& one : r.plain) one = 1;
    for (std::uint8_t& one : r.turned) one = 1;
    r.from[0] = 2;
    REQUIRE(launch_train_eight(r.matrix, nullptr) == 0);
    CHECK(r.wrong(224) == 0);
    auto& other = turned ? r.plain : r.turned;
    CHECK(std::all_of(other.begin(), other.end(), [](std::uint8_t one) { return one == 1; }));
  }
}

TEST_CASE("zeros keep a unit of 1, and what is tiny stays finite") {
  Rounding r({16, 32, 32, false});
  for (float& one : r.from) one = 0;
  REQUIRE(launch_train_eight(r.matrix, nullptr) == 0);
  CHECK(r.unit[0].unit == 1);
  CHECK(r.wrong(1) == 0);

  r.from[7] = 1e-40F;
  REQUIRE(launch_train_eight(r.matrix, nullptr) == 0);
  CHECK(std::isfinite(r.unit[0].unit));
  CHECK(r.unit[0].unit > 0);
  CHECK(r.wrong(3.4028235e38F) == 0);
}

TEST_CASE("an element that is no number, or infinite, leaves no number in its products") {
  for (const float bad : {kNan, -kNan, INFINITY, -INFINITY}) {
    in_every_order([&] {
      Rounding r({64, 80, 80, true});
      r.from[333] = bad;
      REQUIRE(launch_train_eight(r.matrix, nullptr) == 0);
      const auto element = [&](std::size_t i) {
        __nv_fp8_e5m2 bits(0);
        bits.__x = r.plain[i];
        return static_cast<float>(bits) * r.unit[0].unit;
      };
      CHECK_FALSE(std::isfinite(element(333)));
      CHECK_FALSE(std::isfinite(element(0)));
    });
  }
}

TEST_CASE("sizes that are no multiples of 16, and places that are not aligned, are refused") {
  Rounding r({16, 16, 16, false});
  CHECK(train_takes_eight(r.matrix));
  const auto refused = [&](auto change) {
    TrainEight one = r.matrix;
    change(one);
    CHECK_FALSE(train_takes_eight(one));
    CHECK(launch_train_eight(one, nullptr) != 0);
  };
  refused([](TrainEight& e) { e.rows = 8; });
  refused([](TrainEight& e) { e.columns = 24; });
  refused([](TrainEight& e) { e.leading = 18; });
  refused([](TrainEight& e) { e.from += 1; });
  refused([](TrainEight& e) { e.plain += 4; });
  refused([](TrainEight& e) { e.turned += 8; });
  refused([](TrainEight& e) { e.rows = 0; });
}
