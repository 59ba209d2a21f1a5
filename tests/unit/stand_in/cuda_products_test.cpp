// Which operands of products are rounded to bf16 anew, and which are kept.
#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "bench/training/cuda/cuda_backend.h"
#include "bench/training/cuda/device_queue.h"

using namespace cb;
using namespace cb::training;

extern "C" int fake_cuda_computed(void* stream);

namespace {

constexpr int64_t kRows = 9, kEdge = 16;

// Products of kRows equal rows by a matrix of equal elements: each element of C is 16·a·w.
struct OneProduct {
  OneProduct() {
    const auto opened = cublaslt::open();
    REQUIRE(std::holds_alternative<cublaslt::Library>(opened));
    cuda::select(0);
    gpu = cuda_backend(std::get<cublaslt::Library>(opened), {.bf16 = true});
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
