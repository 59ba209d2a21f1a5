// A layer's products with what stands behind them, against the separate kernels: each bit of the
// result is the same. And the RMSNorm of few rows.
#include <cmath>
#include <cstring>

#include "kernels/infer.h"
#include "tests/device_executor/planted/planted.h"
#include "tests/unit/kernels/train_data.h"

using namespace cb::kernels;
using namespace train_data;
using on_executor::in_every_order;

namespace {

// One row; all rows that there may be; a rest of inputs; more of them than the warps have steps. Of
// bf16 those of 32, 64 and 1056 inputs take tensor cores.
struct LayerSize {
  std::int64_t rows, hidden, heads, kv_heads, dim;
};
constexpr LayerSize kLayers[] = {
    {1, 32, 2, 1, 4}, {8, 64, 4, 2, 6}, {3, 35, 3, 3, 2}, {5, 1056, 1, 1, 10}, {13, 64, 2, 1, 6}};

// An array in both types; the numbers have few bits.
struct Both {
  DeviceArray<float> wide;
  DeviceArray<std::uint16_t> narrow;
  Both(std::int64_t count, std::uint64_t seed)
      : wide(at(count), "wide"), narrow(at(count), "narrow") {
    for (std::size_t i = 0; i < wide.size(); ++i) wide[i] = std::round(number(i, seed) * 16) / 8;
    round();
  }
  void round() {
    const auto count = static_cast<std::int64_t>(wide.size());
    REQUIRE(launch_train_narrow({wide.data(), narrow.data(), 1, 1, count, count, count}, nullptr) ==
            0);
  }
  void* of(bool bf16) { return bf16 ? static_cast<void*>(narrow.data()) : wide.data(); }
  bool same_bits(Both& other, bool bf16) {
    return std::memcmp(of(bf16), other.of(bf16), (bf16 ? 2 : 4) * wide.size()) == 0;
  }
};

template <typename Check>
void for_each_layer(Check check) {
  for (const LayerSize& s : kLayers)
    for (const bool bf16 : {false, true}) {
      if (s.rows > infer_most_rows && !bf16) continue;  // refused
      CAPTURE(s.rows);
      CAPTURE(s.hidden);
      CAPTURE(bf16);
      in_every_order([&] { check(s, bf16); });
    }
}

InferProduct product_of_layer(const LayerSize& s, Both& x, Both& w, void* y, std::int64_t outputs,
                              bool bf16) {
  return {x.of(bf16), w.of(bf16), y, s.rows, outputs, s.hidden, s.hidden, s.hidden, outputs, bf16};
}

}  // namespace

TEST_CASE("q, k and v: turned, and in the cache, as by three kernels") {
  for_each_layer([](const LayerSize& s, bool bf16) {
    const std::int64_t stride = (s.heads + 2 * s.kv_heads) * s.dim, kept = 2 * s.kv_heads * s.dim;
    const std::int64_t capacity = 4, past = 2, wide = s.heads * s.dim;
    Both x(s.rows * s.hidden, 1), w(stride * s.hidden, 3), cache(s.rows * capacity * kept, 5),
        other(s.rows * capacity * kept, 5);
    DeviceArray<float> apart(at(s.rows * stride), "apart"), together(apart.size(), "together"),
        angles(at(2 * capacity * s.dim / 2), "angles"), position(1, "position");
    fill(angles, 4);
    position[0] = past;
    const float* sines = angles.data() + capacity * s.dim / 2;

    InferProduct p = product_of_layer(s, x, w, apart.data(), stride, bf16);
    REQUIRE(launch_infer_product(p, nullptr) == 0);
    std::copy(apart.begin(), apart.end(), together.begin());  // k and v there are nobody's
    REQUIRE(launch_train_rotate({apart.data(), angles.data(), sines, s.rows, 1, past,
                                 s.heads + s.kv_heads, s.dim, stride, 1, nullptr},
                                nullptr) == 0);
    REQUIRE(launch_train_append({apart.data() + wide, cache.of(bf16), s.rows, kept, stride, 1, past,
                                 capacity, nullptr, bf16},
                                nullptr) == 0);
    const auto q_is_right = [&] {
      for (std::int64_t r = 0; r < s.rows; ++r)
        for (std::int64_t i = 0; i < wide; ++i)
          if (together[at(r * stride + i)] != apart[at(r * stride + i)]) return false;
      return true;
    };

    p.y = together.data();
    InferCache c{other.of(bf16), angles.data(), sines, nullptr, s.heads,
                 s.kv_heads,     s.dim,         past,  capacity};
    REQUIRE(launch_infer_into_cache(p, c, nullptr) == 0);
    CHECK(q_is_right());
    CHECK(other.same_bits(cache, bf16));
    c.past = 0;
    c.position = position.data();
    REQUIRE(launch_infer_into_cache(p, c, nullptr) == 0);
    CHECK(q_is_right());
    CHECK(other.same_bits(cache, bf16));
    REQUIRE(one_angle_infer_into_cache(p, c, nullptr) == 0);
    CHECK(q_is_right() == (s.dim == 2));  // which has one angle
  });
}

TEST_CASE("SwiGLU of a product, as by two kernels") {
  for_each_layer([](const LayerSize& s, bool bf16) {
    const std::int64_t f = 2 * s.dim + 3;
    Both x(s.rows * s.hidden, 1), w(2 * f * s.hidden, 3), apart(s.rows * f, 4),
        together(s.rows * f, 5);
    DeviceArray<float> gate_up(at(s.rows * 2 * f), "gate_up");
    REQUIRE(launch_infer_product(product_of_layer(s, x, w, gate_up.data(), 2 * f, bf16), nullptr) ==
            0);
    REQUIRE(launch_train_swiglu(gate_up.data(), apart.wide.data(), s.rows, f, nullptr) == 0);
    apart.round();
    const InferProduct p = product_of_layer(s, x, w, together.of(bf16), f, bf16);
    REQUIRE(launch_infer_gated(p, nullptr) == 0);
    CHECK(together.same_bits(apart, bf16));
    REQUIRE(gate_twice_infer_gated(p, nullptr) == 0);
    CHECK_FALSE(together.same_bits(apart, bf16));
  });
}

TEST_CASE("a product added to the stream, as by two kernels; what is not finite sets the mark") {
  for_each_layer([](const LayerSize& s, bool bf16) {
    const std::int64_t outputs = s.dim + 5;
    Both x(s.rows * s.hidden, 1), w(outputs * s.hidden, 3), apart(s.rows * outputs, 4),
        together(s.rows * outputs, 4);
    DeviceArray<float> y(at(s.rows * outputs), "y"), mark(1, "mark");
    mark[0] = 0;
    InferProduct p = product_of_layer(s, x, w, y.data(), outputs, bf16);
    REQUIRE(launch_infer_product(p, nullptr) == 0);
    REQUIRE(launch_train_add(apart.wide.data(), y.data(), s.rows * outputs, nullptr) == 0);
    p.y = together.wide.data();
    REQUIRE(launch_infer_onto_stream(p, mark.data(), nullptr) == 0);
    CHECK(together.same_bits(apart, false));
    CHECK(mark[0] == 0);
    x.wide[x.wide.size() - 1] = std::numeric_limits<float>::infinity();
    x.round();
    REQUIRE(no_mark_infer_onto_stream(p, mark.data(), nullptr) == 0);
    CHECK(mark[0] == 0);
    REQUIRE(launch_infer_onto_stream(p, mark.data(), nullptr) == 0);
    CHECK(mark[0] == 1);
  });
}

TEST_CASE("the RMSNorm of few rows, of fewer elements than threads and of more; a NaN stays one") {
  for (const std::int64_t width : {1, 70, 5000}) {
    CAPTURE(width);
    in_every_order([&] {
      Both x(2 * width, 1), y(2 * width, 2);
      DeviceArray<float> gain(at(width), "gain");
      fill(gain, 3);
      x.wide[at(2 * width - 1)] = kNan;
      std::vector<double> wanted;
      for (std::int64_t r = 0; r < 2; ++r) {
        double squares = 0;
        for (std::int64_t i = 0; i < width; ++i)
          squares += std::pow(static_cast<double>(x.wide[at(r * width + i)]), 2);
        for (std::int64_t i = 0; i < width; ++i)
          wanted.push_back(static_cast<double>(x.wide[at(r * width + i)]) *
                           static_cast<double>(gain[at(i)]) /
                           std::sqrt(squares / static_cast<double>(width) + 1e-5));
      }
      InferNorm n{x.wide.data(), gain.data(), y.wide.data(), 2, width, false};
      REQUIRE(launch_infer_norm(n, nullptr) == 0);
      CHECK(wrong(y.wide, wanted) == 0);
      const std::vector<std::uint16_t> before(y.narrow.begin(), y.narrow.end());
      y.round();
      const std::vector<std::uint16_t> rounded(y.narrow.begin(), y.narrow.end());
      std::copy(before.begin(), before.end(), y.narrow.begin());
      n.y = y.narrow.data();
      n.narrow = true;
      REQUIRE(launch_infer_norm(n, nullptr) == 0);
      CHECK(std::equal(rounded.begin(), rounded.end(), y.narrow.begin()));
    });
  }
}

TEST_CASE("more rows than there may be are refused by each, and heads of an odd width") {
  DeviceArray<float> x(18, "x"), w(18, "w"), y(18, "y");
  InferProduct p{x.data(), w.data(), y.data(), 9, 2, 1, 1, 1, 2, false};
  const InferCache even{y.data(), x.data(), x.data(), nullptr, 1, 0, 2, 0, 1};
  CHECK(launch_infer_gated(p, nullptr) != 0);
  CHECK(launch_infer_into_cache(p, even, nullptr) != 0);
  CHECK(launch_infer_onto_stream(p, y.data(), nullptr) != 0);
  CHECK(launch_infer_norm({x.data(), w.data(), y.data(), 17, 1, false}, nullptr) != 0);
  p.rows = 1;
  CHECK(launch_infer_into_cache(p, {y.data(), x.data(), x.data(), nullptr, 1, 0, 1, 0, 1},
                                nullptr) != 0);
}
