// Kernels over rows of a training step, against the formulas in double precision.
#include <bit>
#include <iterator>

#include "tests/unit/kernels/train_data.h"

using namespace cb::kernels;
using namespace train_data;
using on_executor::in_every_order;

namespace {

struct Area {
  std::int64_t rows, width;
};
// Around a warp, a block and the 64 rows of a part; no width is a multiple of a vector but one.
constexpr Area kAreas[] = {{1, 1}, {3, 33}, {2, 256}, {65, 7}, {130, 257}};

std::size_t area(const Area& s) { return static_cast<std::size_t>(s.rows * s.width); }
}  // namespace

TEST_CASE("a norm and its backward, also of a row with a NaN") {
  for (const Area& s : kAreas) {
    CAPTURE(s.rows);
    CAPTURE(s.width);
    in_every_order([&] {
      DeviceArray<float> x(area(s), "x"), y(area(s), "y"), gain(at(s.width), "gain"),
          scale(at(s.rows), "scale"), dy(area(s), "dy"), dx(area(s), "dx"),
          dgain(at(s.width), "dgain"), parts(at(train_norm_parts(s.rows) * s.width), "parts");
      fill(x, 1);
      fill(gain, 2);
      fill(dy, 3);
      fill(dx, 4);
      fill(dgain, 5);
      if (s.rows == 3) x[at(s.width + 2)] = kNan;
      std::vector<double> want_y(area(s)), want_scale(at(s.rows)), want_dx = values_of(dx),
                                                                   want_dgain = values_of(dgain);
      for (std::int64_t r = 0; r < s.rows; ++r) {
        double squares = 0, dot = 0;
        const auto of = [&](const DeviceArray<float>& a, std::int64_t i) {
          return static_cast<double>(a[at(r * s.width + i)]);
        };
        for (std::int64_t i = 0; i < s.width; ++i) squares += of(x, i) * of(x, i);
        const double k = 1 / std::sqrt(squares / static_cast<double>(s.width) + 1e-5);
        want_scale[at(r)] = k;
        for (std::int64_t i = 0; i < s.width; ++i)
          dot += static_cast<double>(gain[at(i)]) * of(dy, i) * of(x, i);
        for (std::int64_t i = 0; i < s.width; ++i) {
          const auto g = static_cast<double>(gain[at(i)]);
          want_y[at(r * s.width + i)] = of(x, i) * k * g;
          want_dgain[at(i)] += of(dy, i) * of(x, i) * k;
          want_dx[at(r * s.width + i)] +=
              k * g * of(dy, i) - of(x, i) * dot * k * k * k / static_cast<double>(s.width);
        }
      }
      REQUIRE(launch_train_norm({x.data(), gain.data(), y.data(), scale.data(), s.rows, s.width},
                                nullptr) == 0);
      CHECK(wrong(y, want_y) == 0);
      CHECK(wrong(scale, want_scale) == 0);
      REQUIRE(launch_train_norm_backward({dy.data(), x.data(), gain.data(), scale.data(), dx.data(),
                                          dgain.data(), parts.data(), s.rows, s.width},
                                         nullptr) == 0);
      CHECK(wrong(dx, want_dx, 2e-5) == 0);
      CHECK(wrong(dgain, want_dgain, 2e-5) == 0);
    });
  }
}

TEST_CASE("positions are turned by their angle, and back") {
  // Two sequences of five tokens behind three that are past; of four heads the first three turn.
  constexpr std::int64_t rows = 10, sequence = 5, past = 3, heads = 3, dim = 6, stride = 4 * dim;
  in_every_order([&] {
    DeviceArray<float> x(rows * stride, "x"), cosines((past + sequence) * dim / 2, "cosines"),
        sines((past + sequence) * dim / 2, "sines");
    fill(x, 1);
    for (std::size_t i = 0; i < cosines.size(); ++i) {
      cosines[i] = std::cos(static_cast<float>(i));
      sines[i] = std::sin(static_cast<float>(i));
    }
    const std::vector<double> before = values_of(x);
    std::vector<double> wanted = before;
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t h = 0; h < heads; ++h)
        for (std::int64_t i = 0; i < dim / 2; ++i) {
          const std::size_t low = at(r * stride + h * dim + i), high = low + dim / 2;
          const auto angle = static_cast<double>((past + r % sequence) * dim / 2 + i);
          wanted[low] = before[low] * std::cos(angle) - before[high] * std::sin(angle);
          wanted[high] = before[high] * std::cos(angle) + before[low] * std::sin(angle);
        }
    TrainRotation turn{x.data(), cosines.data(), sines.data(), rows,   sequence,
                       past,     heads,          dim,          stride, 1};
    REQUIRE(launch_train_rotate(turn, nullptr) == 0);
    CHECK(wrong(x, wanted) == 0);
    turn.direction = -1;
    REQUIRE(launch_train_rotate(turn, nullptr) == 0);
    CHECK(wrong(x, before) == 0);
  });
}

TEST_CASE("rows go behind those that are past of their own sequence") {
  constexpr std::int64_t rows = 6, width = 5, stride = 9, sequence = 3, past = 2, capacity = 7;
  in_every_order([&] {
    DeviceArray<float> from(rows * stride, "from"), to(2 * capacity * width, "to");
    fill(from, 1);
    fill(to, 2);
    std::vector<double> wanted = values_of(to);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t i = 0; i < width; ++i)
        wanted[at((r / sequence * capacity + past + r % sequence) * width + i)] =
            static_cast<double>(from[at(r * stride + i)]);
    REQUIRE(launch_train_append(
                {from.data(), to.data(), rows, width, stride, sequence, past, capacity}, nullptr) ==
            0);
    CHECK(wrong(to, wanted, 0) == 0);
  });
}

TEST_CASE("SwiGLU and its backward, with a NaN in gate and in up") {
  for (const Area& s : kAreas) {
    CAPTURE(s.width);
    in_every_order([&] {
      DeviceArray<float> gate_up(2 * area(s), "gate_up"), out(area(s), "out"),
          dout(area(s), "dout");
      fill(gate_up, 1);
      fill(dout, 2);
      if (s.rows == 3) gate_up[at(2 * s.width + 3)] = gate_up[at(5 * s.width + 4)] = kNan;
      std::vector<double> want(area(s)), back(2 * area(s));
      for (std::int64_t r = 0; r < s.rows; ++r)
        for (std::int64_t i = 0; i < s.width; ++i) {
          const std::size_t here = at(r * s.width + i), gate = at(2 * r * s.width + i);
          const auto g = static_cast<double>(gate_up[gate]);
          const auto up = static_cast<double>(gate_up[gate + at(s.width)]);
          const auto d = static_cast<double>(dout[here]);
          const double sigmoid = 1 / (1 + std::exp(-g));
          want[here] = g * sigmoid * up;
          back[gate] = d * up * sigmoid * (1 + g * (1 - sigmoid));
          back[gate + at(s.width)] = d * g * sigmoid;
        }
      REQUIRE(launch_train_swiglu(gate_up.data(), out.data(), s.rows, s.width, nullptr) == 0);
      CHECK(wrong(out, want) == 0);
      REQUIRE(launch_train_swiglu_backward(dout.data(), gate_up.data(), s.rows, s.width, nullptr) ==
              0);
      CHECK(wrong(gate_up, back) == 0);
    });
  }
}

TEST_CASE("matrices with gaps are rounded to bf16, to nearest and ties to even") {
  // Eight elements at once where all begin at 16 bytes; and matrices without gaps.
  struct Gaps {
    std::int64_t columns, leading, between;
  };
  constexpr std::int64_t matrices = 2, rows = 3;
  for (const Gaps& gaps :
       {Gaps{1, 1040, 5}, Gaps{7, 1040, 5}, Gaps{1030, 1040, 8}, Gaps{1032, 1040, 8},
        Gaps{1032, 1042, 8}, Gaps{1032, 1040, 2}, Gaps{1032, 1032, 0}, Gaps{7, 7, 0}}) {
    const std::int64_t columns = gaps.columns, leading = gaps.leading;
    const std::int64_t step = rows * leading + gaps.between;
    CAPTURE(columns);
    CAPTURE(leading);
    in_every_order([&] {
      DeviceArray<float> from(at(step + rows * leading), "from");
      DeviceArray<std::uint16_t> to(at(matrices * rows * columns), "to");
      fill(from, 1);
      std::size_t off = 0;
      REQUIRE(launch_train_narrow({from.data(), to.data(), matrices, rows, columns, leading, step},
                                  nullptr) == 0);
      for (std::int64_t i = 0; i < matrices * rows * columns; ++i) {
        const std::int64_t row = i / columns;
        const float wanted = from[at(row / rows * step + row % rows * leading + i % columns)];
        const float got = std::bit_cast<float>(std::uint32_t{to[at(i)]} << 16);
        off += !(std::abs(got - wanted) <= std::abs(wanted) * 0x1p-8F);  // half of a last place
      }
      CHECK(off == 0);
    });
  }
  DeviceArray<float> from(6, "from");
  DeviceArray<std::uint16_t> to(6, "to");
  const float infinite = std::numeric_limits<float>::infinity();
  const float given[] = {std::bit_cast<float>(0x3f808000U), std::bit_cast<float>(0x3f818000U),
                         std::bit_cast<float>(0x3f808001U), -infinite,
                         std::bit_cast<float>(0x7f800001U), 3.4e38F};
  std::copy(std::begin(given), std::end(given), from.begin());
  REQUIRE(launch_train_narrow({from.data(), to.data(), 1, 1, 6, 6, 6}, nullptr) == 0);
  const std::uint16_t wanted[] = {0x3f80, 0x3f82, 0x3f81, 0xff80, 0x7fc0, 0x7f80};
  CHECK(std::equal(to.begin(), to.end(), std::begin(wanted)));
}

TEST_CASE("arrays are added") {
  for (const std::size_t count : {0, 1, 255, 1025}) {
    CAPTURE(count);
    in_every_order([&] {
      DeviceArray<float> to(count, "to"), from(count, "from");
      fill(to, 1);
      fill(from, 2);
      std::vector<double> wanted;
      for (std::size_t i = 0; i < count; ++i)
        wanted.push_back(static_cast<double>(to[i] + from[i]));
      REQUIRE(launch_train_add(to.data(), from.data(), static_cast<std::int64_t>(count), nullptr) ==
              0);
      CHECK(wrong(to, wanted, 0) == 0);
    });
  }
}
