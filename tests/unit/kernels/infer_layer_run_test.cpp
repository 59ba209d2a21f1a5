// A layer's products with what stands before and behind them, against the separate kernels: each
// bit of the result is the same.
#include <cstring>
#include <utility>

#include "kernels/infer.h"
#include "tests/device_executor/planted/planted.h"
#include "tests/unit/kernels/train_data.h"

using namespace cb::kernels;
using namespace train_data;
using on_executor::in_every_order;

namespace {

// Rows of x, elements of a row, and heads of q and of k, their elements: on tensor cores those of
// 32 inputs and more. One row; all rows that there may be; a rest of inputs; more than a step.
struct LayerSize {
  std::int64_t rows, hidden, heads, kv_heads, dim;
};
constexpr LayerSize kLayers[] = {
    {1, 32, 2, 1, 4}, {8, 64, 4, 2, 6}, {3, 35, 3, 3, 2}, {5, 1056, 1, 1, 10}};

std::uint16_t upper_half(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<std::uint16_t>(bits >> 16);
}

// A matrix in both types; the numbers have few bits.
struct Weights {
  DeviceArray<float> wide;
  DeviceArray<std::uint16_t> narrow;
  Weights(std::int64_t count, std::uint64_t seed)
      : wide(at(count), "w"), narrow(at(count), "w of bf16") {
    for (std::size_t i = 0; i < wide.size(); ++i) {
      wide[i] = std::round(number(i, seed) * 16) / 8;
      narrow[i] = upper_half(wide[i]);
    }
  }
  const void* of(bool bf16) const {
    return bf16 ? static_cast<const void*>(narrow.data()) : wide.data();
  }
};

bool same_bits(DeviceArray<float>& a, DeviceArray<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), 4 * a.size()) == 0;
}
void copy_of(DeviceArray<float>& to, DeviceArray<float>& from) {
  std::copy(from.begin(), from.end(), to.begin());
}

template <typename Check>
void for_each_layer(Check check) {
  for (const LayerSize& s : kLayers)
    for (const bool bf16 : {false, true}) {
      CAPTURE(s.rows);
      CAPTURE(s.hidden);
      CAPTURE(bf16);
      in_every_order([&] { check(s, bf16); });
    }
}

// x, its gains, and what train_norm makes of both.
struct Stream {
  DeviceArray<float> x, gain, normed, scale;
  explicit Stream(const LayerSize& s)
      : x(at(s.rows * s.hidden), "x"),
        gain(at(s.hidden), "gain"),
        normed(at(s.rows * s.hidden), "normed"),
        scale(at(s.rows), "scale") {
    fill(x, 1);
    fill(gain, 2);
    REQUIRE(launch_train_norm(
                {x.data(), gain.data(), normed.data(), scale.data(), s.rows, s.hidden}, nullptr) ==
            0);
  }
};

}  // namespace

TEST_CASE("q, k and v of a normed row: turned, and in the cache, as by four kernels") {
  for_each_layer([](const LayerSize& s, bool bf16) {
    const std::int64_t stride = (s.heads + 2 * s.kv_heads) * s.dim, kept = 2 * s.kv_heads * s.dim;
    const std::int64_t capacity = 4, past = 2, wide = s.heads * s.dim;
    Stream stream(s);
    const Weights w(stride * s.hidden, 3);
    DeviceArray<float> apart(at(s.rows * stride), "apart"), together(apart.size(), "together"),
        angles(at(2 * capacity * s.dim / 2), "angles"), position(1, "position");
    DeviceArray<float> cache(at(s.rows * capacity * kept), "cache"), other(cache.size(), "other");
    for (float& value : cache) value = 9;
    for (float& value : other) value = 9;
    fill(angles, 4);
    position[0] = past;
    const float* sines = angles.data() + capacity * s.dim / 2;

    InferProduct p{stream.normed.data(),
                   w.of(bf16),
                   apart.data(),
                   s.rows,
                   stride,
                   s.hidden,
                   s.hidden,
                   s.hidden,
                   stride,
                   bf16};
    REQUIRE(launch_infer_product(p, nullptr) == 0);
    REQUIRE(launch_train_rotate({apart.data(), angles.data(), sines, s.rows, 1, past,
                                 s.heads + s.kv_heads, s.dim, stride, 1, nullptr},
                                nullptr) == 0);
    REQUIRE(launch_train_append({apart.data() + wide, cache.data(), s.rows, kept, stride, 1, past,
                                 capacity, nullptr, bf16},
                                nullptr) == 0);

    p.x = stream.x.data();
    p.y = together.data();
    p.gain = stream.gain.data();
    copy_of(together, apart);  // k and v of y are nobody's
    for (std::int64_t r = 0; r < s.rows; ++r)
      for (std::int64_t i = 0; i < wide; ++i) together[at(r * stride + i)] = 7;
    for (const bool on_device : {false, true}) {
      REQUIRE(launch_infer_into_cache(
                  p,
                  {other.data(), angles.data(), sines, on_device ? position.data() : nullptr,
                   s.heads, s.kv_heads, s.dim, on_device ? 0 : past, capacity},
                  nullptr) == 0);
      CHECK(same_bits(together, apart));
      CHECK(same_bits(other, cache));
    }
    const InferCache kept_there{other.data(), angles.data(), sines, nullptr, s.heads,
                                s.kv_heads,   s.dim,         past,  capacity};
    REQUIRE(one_angle_infer_into_cache(p, kept_there, nullptr) == 0);
    CHECK(same_bits(together, apart) == (s.dim == 2));  // which has one angle
  });
}

TEST_CASE("SwiGLU of a normed row, as by three kernels") {
  for_each_layer([](const LayerSize& s, bool bf16) {
    const std::int64_t f = 2 * s.dim + 3;
    Stream stream(s);
    const Weights w(2 * f * s.hidden, 3);
    DeviceArray<float> both(at(s.rows * 2 * f), "both"), apart(at(s.rows * f), "apart"),
        together(apart.size(), "together");
    InferProduct p{stream.normed.data(),
                   w.of(bf16),
                   both.data(),
                   s.rows,
                   2 * f,
                   s.hidden,
                   s.hidden,
                   s.hidden,
                   2 * f,
                   bf16};
    REQUIRE(launch_infer_product(p, nullptr) == 0);
    REQUIRE(launch_train_swiglu(both.data(), apart.data(), s.rows, f, nullptr) == 0);
    p = {stream.x.data(),   w.of(bf16), together.data(), s.rows, f,
         s.hidden,          s.hidden,   s.hidden,        f,      bf16,
         stream.gain.data()};
    REQUIRE(launch_infer_gated(p, nullptr) == 0);
    CHECK(same_bits(together, apart));
    REQUIRE(gate_twice_infer_gated(p, nullptr) == 0);
    CHECK_FALSE(same_bits(together, apart));
  });
}

TEST_CASE(
    "a product is added to the stream, as by three kernels; what is not finite sets the mark") {
  for_each_layer([](const LayerSize& s, bool bf16) {
    const std::int64_t outputs = s.dim + 5;
    Stream stream(s);
    const Weights w(outputs * s.hidden, 3);
    DeviceArray<float> y(at(s.rows * outputs), "y"), apart(y.size(), "apart"),
        together(y.size(), "together"), mark(1, "mark");
    fill(apart, 4);
    fill(together, 4);
    mark[0] = 0;
    InferProduct p{stream.x.data(), w.of(bf16), y.data(), s.rows,  outputs,
                   s.hidden,        s.hidden,   s.hidden, outputs, bf16};
    REQUIRE(launch_infer_product(p, nullptr) == 0);
    REQUIRE(launch_train_add(apart.data(), y.data(), s.rows * outputs, nullptr) == 0);
    p.y = together.data();
    REQUIRE(launch_infer_onto_stream(p, mark.data(), nullptr) == 0);
    CHECK(same_bits(together, apart));
    CHECK(mark[0] == 0);
    stream.x[stream.x.size() - 1] = std::numeric_limits<float>::infinity();
    REQUIRE(no_mark_infer_onto_stream(p, mark.data(), nullptr) == 0);
    CHECK(mark[0] == 0);
    REQUIRE(launch_infer_onto_stream(p, mark.data(), nullptr) == 0);
    CHECK(mark[0] == 1);
  });
}

TEST_CASE("gains where none are to be, none where some are, and nine rows are refused") {
  DeviceArray<float> x(9, "x"), w(9, "w"), y(9, "y");
  InferProduct p{x.data(), w.data(), y.data(), 1, 1, 1, 1, 1, 1, false};
  CHECK(launch_infer_gated(p, nullptr) != 0);
  CHECK(launch_infer_into_cache(p, {}, nullptr) != 0);
  p.gain = x.data();
  CHECK(launch_infer_product(p, nullptr) != 0);
  CHECK(launch_infer_onto_stream(p, y.data(), nullptr) != 0);
  p.rows = 9;
  CHECK(launch_infer_gated(p, nullptr) != 0);
}
