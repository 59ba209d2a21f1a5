// Which operands of products are rounded to bf16 or eight bits anew, and which are kept.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "bench/training/cuda/cuda_backend.h"
#include "bench/training/cuda/device_queue.h"

using namespace cb;
using namespace cb::training;

extern "C" int fake_cuda_computed(void* stream);

namespace {

constexpr int64_t kRows = 9, kEdge = 16;

struct OnGpu {
  explicit OnGpu(const CudaSettings& settings) {
    const auto opened = cublaslt::open();
    REQUIRE(std::holds_alternative<cublaslt::Library>(opened));
    cuda::select(0);
    gpu = cuda_backend(std::get<cublaslt::Library>(opened), settings);
  }
  // Kernels and products of a call.
  int computed(const std::function<void()>& call) const {
    void* const stream = gpu->queue().stream().handle();
    gpu->finish();
    const int before = fake_cuda_computed(stream);
    call();
    gpu->finish();
    return fake_cuda_computed(stream) - before;
  }

  std::unique_ptr<GpuBackend> gpu;
};

// Products of kRows equal rows by a matrix of equal elements: each element of C is 16·a·w.
struct OneProduct : OnGpu {
  OneProduct() : OnGpu({.bf16 = true}) {
    a = gpu->allocate(kRows * kEdge), w = gpu->allocate(kEdge * kEdge),
    c = gpu->allocate(kRows * kEdge);
    put(a.get(), kRows * kEdge, 1);
    put(w.get(), kEdge * kEdge, 2);
  }
  void put(float* to, int64_t count, float value) {
    const std::vector<float> values(static_cast<size_t>(count), value);
    gpu->put(to, values.data(), count);
  }
  void multiply() {
    gpu->matmul(
        {{kRows, kEdge, kEdge}, a.get(), kEdge, false, w.get(), kEdge, true, c.get(), kEdge});
  }
  float product() {
    multiply();
    float out = 0;
    gpu->look(&out, c.get(), 1);
    return out;
  }

  std::shared_ptr<float[]> a, w, c;
};

}  // namespace

TEST_CASE("weights are rounded once until they change, by whatever changes them") {
  OneProduct t;
  CHECK(t.computed([&] { t.multiply(); }) == 3);  // both operands, the product
  t.gpu->keep_rounded(t.w.get(), kEdge * kEdge);
  CHECK(t.product() == 32);
  CHECK(t.product() == 32);
  CHECK(t.computed([&] { t.gpu->finish(), t.multiply(); }) == 2);  // not the weights

  t.put(t.w.get(), kEdge * kEdge, 3);
  CHECK(t.product() == 48);

  const auto gradient = t.gpu->allocate(kEdge * kEdge), mean = t.gpu->allocate(kEdge * kEdge),
             square = t.gpu->allocate(kEdge * kEdge);
  AdamStep step;
  step.rate = 1;
  step.decay = 1;  // all of a weight goes
  t.gpu->adamw(t.w.get(), gradient.get(), mean.get(), square.get(), kEdge * kEdge, step);
  CHECK(t.product() == 0);

  t.put(t.w.get(), kEdge * kEdge, 2);
  CHECK(t.product() == 32);
  t.gpu->make_nan(t.w.get() + 5);
  const float no_number = t.product();
  CHECK(no_number != no_number);

  // A write that begins before the matrix, and one that ends behind it.
  t.put(t.w.get(), kEdge * kEdge, 2);
  CHECK(t.product() == 32);
  const auto whole = t.gpu->allocate(3 * kEdge * kEdge);
  t.gpu->keep_rounded(whole.get() + kEdge * kEdge, kEdge * kEdge);
  t.put(whole.get(), 3 * kEdge * kEdge, 2);
  const auto of_whole = [&] {
    const auto kept = std::exchange(t.w, {whole, whole.get() + kEdge * kEdge});
    const float out = t.product();
    t.w = kept;
    return out;
  };
  CHECK(of_whole() == 32);
  t.put(whole.get(), 3 * kEdge * kEdge, 3);
  CHECK(of_whole() == 48);

  // Another rank's part comes from elsewhere: who puts it there says so.
  t.put(t.w.get(), kEdge * kEdge, 2);
  CHECK(t.product() == 32);
  t.gpu->zero(t.w.get(), kEdge * kEdge);
  t.gpu->weights_changed();
  CHECK(t.product() == 0);
}

TEST_CASE(
    "an operand of two products, one behind the other, is rounded once, and anew when it changed") {
  OneProduct t;
  t.multiply();  // makes room, for which it waits
  CHECK(t.computed([&] { t.multiply(), t.multiply(); }) == 5);
  CHECK(t.product() == 32);
  t.multiply();
  t.gpu->add(t.a.get(), t.a.get(), kRows * kEdge);
  CHECK(t.product() == 64);
  t.multiply();
  t.put(t.a.get(), kRows * kEdge, 4);
  CHECK(t.product() == 128);
  // A part of it, or with other distances, is another operand.
  t.put(t.a.get() + kEdge, kEdge, 1);
  t.multiply();
  t.gpu->matmul({{1, kEdge, kEdge},
                 t.a.get() + kEdge,
                 kEdge,
                 false,
                 t.w.get(),
                 kEdge,
                 true,
                 t.c.get(),
                 kEdge});
  float out = 0;
  t.gpu->look(&out, t.c.get(), 1);
  CHECK(out == 32);
}

TEST_CASE("weights end with the memory that they lie in") {
  OneProduct t;
  for (const float value : {2.0F, 3.0F}) {
    const auto whole = t.gpu->allocate(2 * kEdge * kEdge);
    const std::shared_ptr<float[]> inner(whole, whole.get() + kEdge * kEdge);
    t.put(whole.get(), 2 * kEdge * kEdge, value);
    t.gpu->keep_rounded(inner.get(), kEdge * kEdge);
    const auto kept = std::exchange(t.w, inner);
    CHECK(t.product() == 16 * value);
    t.w = kept;
  }
}

TEST_CASE("a product that is written over its own operand is not taken for it") {
  OneProduct t;
  const auto in_place = [&] {
    t.gpu->matmul(
        {{kRows, kEdge, kEdge}, t.a.get(), kEdge, false, t.w.get(), kEdge, true, t.a.get(), kEdge});
  };
  in_place();
  in_place();
  float out = 0;
  t.gpu->look(&out, t.a.get(), 1);
  CHECK(out == 32 * 32);
}

namespace {

constexpr int64_t kTokens = 48, kOut = 80, kIn = 64;

// A layer's matrix and its three products in eight bits, with what they should be.
struct LayerInEightBits : OnGpu {
  LayerInEightBits() : OnGpu({.bf16 = true, .fp8 = true}) {
    x = made(kTokens, kIn, 1), w = made(kOut, kIn, 2), dy = made(kTokens, kOut, 3);
    y = gpu->allocate(kTokens * kOut), dx = gpu->allocate(kTokens * kIn);
    dw = gpu->allocate(kOut * kIn);
  }
  std::shared_ptr<float[]> made(int64_t rows, int64_t columns, uint64_t stream) const {
    auto out = gpu->allocate(rows * columns);
    gpu->normal(out.get(), {rows, columns, 0, 0, columns}, stream, 0.1);
    return out;
  }
  std::vector<double> values(const std::shared_ptr<float[]>& from, int64_t count) const {
    std::vector<float> out(static_cast<size_t>(count));
    gpu->look(out.data(), from.get(), count);
    return {out.begin(), out.end()};
  }
  // To `bits` of the fraction, with the smallest step that the format has for its largest number.
  static std::vector<double> rounded(std::vector<double> values, int bits, double most,
                                     int least_exponent) {
    double largest = 0;
    for (const double v : values) largest = std::max(largest, std::abs(v));
    const auto scale = static_cast<double>(static_cast<float>(most) / static_cast<float>(largest));
    for (double& v : values) {
      const double scaled = static_cast<double>(static_cast<float>(v) * static_cast<float>(scale));
      int exponent = 0;
      std::frexp(scaled, &exponent);
      const int step = std::max(exponent - 1, least_exponent) - bits;
      v = std::ldexp(std::nearbyint(std::ldexp(scaled, -step)), step) / scale;
    }
    return values;
  }
  static std::vector<double> e4m3(const std::vector<double>& v) { return rounded(v, 3, 448, -6); }
  static std::vector<double> e5m2(const std::vector<double>& v) {
    return rounded(v, 2, 57344, -14);
  }
  void forward() {
    gpu->matmul({{kTokens, kOut, kIn}, x.get(), kIn, false, w.get(), kIn, true, y.get(), kOut});
  }
  void gradients() {
    gpu->matmul({{kTokens, kIn, kOut}, dy.get(), kOut, false, w.get(), kIn, false, dx.get(), kIn});
    gpu->matmul(
        {{kOut, kIn, kTokens}, dy.get(), kOut, true, x.get(), kIn, false, dw.get(), kIn, 1, 1});
  }

  std::shared_ptr<float[]> x, w, dy, y, dx, dw;
};

// Σ a(i, q)·b(q, j), by the places of both in their arrays.
template <typename PlaceA, typename PlaceB>
double largest_difference(const std::vector<double>& c, int64_t columns, int64_t depth,
                          const std::vector<double>& a, PlaceA place_a,
                          const std::vector<double>& b, PlaceB place_b) {
  double most = 0;
  for (size_t i = 0; i < c.size(); ++i) {
    const auto row = static_cast<int64_t>(i) / columns, column = static_cast<int64_t>(i) % columns;
    double sum = 0;
    for (int64_t q = 0; q < depth; ++q)
      sum += a[static_cast<size_t>(place_a(row, q))] * b[static_cast<size_t>(place_b(q, column))];
    most = std::max(most, std::abs(sum - c[i]));
  }
  return most;
}

}  // namespace

TEST_CASE("a layer's three products in eight bits are those of the rounded matrices") {
  LayerInEightBits t;
  t.gpu->keep_rounded(t.w.get(), kOut * kIn);
  const auto x = t.values(t.x, kTokens * kIn), w = t.values(t.w, kOut * kIn),
             dy = t.values(t.dy, kTokens * kOut);
  const auto x8 = t.e4m3(x), w8 = t.e4m3(w), dy8 = t.e5m2(dy);
  const auto by_rows_x = [](int64_t i, int64_t q) { return i * kIn + q; };
  const auto turned_w = [](int64_t q, int64_t j) { return j * kIn + q; };
  const auto by_rows_dy = [](int64_t i, int64_t q) { return i * kOut + q; };
  const auto turned_dy = [](int64_t i, int64_t q) { return q * kOut + i; };
  t.forward();
  t.gradients();
  t.gradients();  // those of weights add to what is there
  const auto y = t.values(t.y, kTokens * kOut), dx = t.values(t.dx, kTokens * kIn);
  auto dw = t.values(t.dw, kOut * kIn);
  for (double& one : dw) one /= 2;
  CHECK(largest_difference(y, kOut, kIn, x8, by_rows_x, w8, turned_w) < 1e-6);
  CHECK(largest_difference(y, kOut, kIn, x, by_rows_x, w, turned_w) > 1e-4);  // it was rounded
  CHECK(largest_difference(dx, kIn, kOut, dy8, by_rows_dy, w8, by_rows_x) < 1e-6);
  CHECK(largest_difference(dw, kIn, kTokens, dy8, turned_dy, x8, by_rows_x) < 1e-6);
}

TEST_CASE("in eight bits weights are rounded once until they change, and a gradient once") {
  LayerInEightBits t;
  t.forward(), t.gradients();  // makes room
  // A matrix takes three: zero, the look, the rounding. Forward: x, w, the product; backward: dy,
  // w, the product, x, the product.
  CHECK(t.computed([&] { t.forward(), t.gradients(); }) == 7 + 11);
  t.gpu->keep_rounded(t.w.get(), kOut * kIn);
  CHECK(t.computed([&] { t.forward(), t.gradients(); }) == 7 + 8);
  CHECK(t.computed([&] { t.forward(), t.gradients(); }) == 4 + 8);
  const auto before = t.values(t.y, kTokens * kOut);
  t.gpu->normal(t.w.get(), {kOut, kIn, 0, 0, kIn}, 9, 0.1);
  t.gpu->weights_changed();
  t.forward();
  CHECK(t.values(t.y, kTokens * kOut) != before);
}

TEST_CASE("the head's products, and sizes that are no multiples of 16, stay in bf16") {
  LayerInEightBits t;
  t.gpu->keep_rounded(t.w.get(), kOut * kIn);
  t.forward();
  const auto eight = t.values(t.y, kTokens * kOut);
  t.gpu->head_matmul(
      {{kTokens, kOut, kIn}, t.x.get(), kIn, false, t.w.get(), kIn, true, t.y.get(), kOut});
  const auto head = t.values(t.y, kTokens * kOut);
  CHECK(head != eight);
  t.forward();  // what the head left in the weights' place is not taken for eight bits
  CHECK(t.values(t.y, kTokens * kOut) == eight);
  t.gpu->matmul(
      {{kTokens - 1, kOut, kIn}, t.x.get(), kIn, false, t.w.get(), kIn, true, t.y.get(), kOut});
  const auto odd = t.values(t.y, (kTokens - 1) * kOut);
  CHECK(std::equal(odd.begin(), odd.end(), head.begin()));
}
