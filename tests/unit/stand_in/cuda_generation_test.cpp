// Generating tokens on a stand-in GPU, with the real kernels, beside the same generation on the
// host.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "bench/training/cuda/cuda_backend.h"
#include "bench/training/cuda/device_queue.h"
#include "bench/training/generator.h"
#include "bench/training/host_backend.h"
#include "bench/training/infer_session.h"
#include "bench/training/prediction.h"
#include "sys/cpu/affinity.h"

using namespace cb;
using namespace cb::training;

// Of the stand-in runtime.
extern "C" int fake_cuda_computed(void* stream);

namespace {

std::unique_ptr<Backend<float>> generating_gpu(bool bf16 = false) {
  const auto opened = cublaslt::open();
  if (const auto* absent = std::get_if<cublaslt::Absent>(&opened))
    FAIL("the stand-in cuBLASLt was not opened: " << absent->reason.in(Lang::en));
  cuda::select(0);
  return cuda_backend(std::get<cublaslt::Library>(opened),
                      {.attention_block_rows = 4, .bf16 = bf16, .generates = true});
}

Team& generating_thread() {
  static Team team({allowed_cpus().at(0)});
  return team;
}
std::unique_ptr<Backend<float>> generating_host() {
  return host_backend<float>(generating_thread());
}

// Each size differs from the others, so that a mixed-up one is seen; two heads share one of k, v.
struct Tokens {
  explicit Tokens(std::unique_ptr<Backend<float>> made, const Generation& g = {3, 7, 6},
                  const Shape& shape = {"small", 2, 12, 4, 2, 6, 10, 14})
      : stage{.shape = shape, .layout = {}, .batch = {}, .at = {}},
        backend(std::move(made)),
        comm(single_comm()),
        fabric(connect<float>(*comm, stage.layout)),
        text({stage.shape.vocabulary, 14, 0.5}, 3) {
    stage.forward_only = true;
    parameters = std::make_unique<Parameters<float>>(*backend, stage, 7);
    // Far from their start: gains that are not 1, scores that differ much.
    std::vector<float> w(static_cast<size_t>(parameters->count()));
    backend->look(w.data(), parameters->weights(), parameters->count());
    for (size_t i = 0; i < w.size(); ++i) w[i] = 20 * w[i] + 0.1F * std::sin(static_cast<float>(i));
    backend->put(parameters->weights(), w.data(), parameters->count());
    backend->freeze(parameters->weights(), parameters->count());
    add(g);
  }

  Generator<float>& add(const Generation& g) {
    generations.push_back(g);
    generators.push_back(
        std::make_unique<Generator<float>>(*backend, fabric, stage, *parameters, g, text, 0));
    return *generators.back();
  }
  void generate(size_t which = 0) {
    Generator<float>& g = *generators.at(which);
    CHECK(g.prefill().finite);
    while (g.chosen() < generations.at(which).new_tokens) CHECK(g.step().finite);
  }
  Generator<float>& generator() { return *generators.front(); }

  Stage stage;
  std::unique_ptr<Backend<float>> backend;
  std::unique_ptr<Comm> comm;
  Fabric<float> fabric;
  Text text;
  std::unique_ptr<Parameters<float>> parameters;
  std::vector<Generation> generations;
  std::vector<std::unique_ptr<Generator<float>>> generators;
};

}  // namespace

TEST_CASE("the GPU chooses the host's tokens: by own products and by the library's") {
  for (const Generation& g : {Generation{3, 7, 6}, Generation{1, 1, 3}, Generation{9, 3, 4},
                              Generation{1, 70, 3}}) {  // more positions than a block has
    CAPTURE(g.sequences);
    CAPTURE(g.prompt);
    Tokens host(generating_host(), g), gpu(generating_gpu(), g);
    host.generate();
    gpu.generate();
    CHECK(gpu.generator().tokens() == host.generator().tokens());
    // With such weights the softmax multiplies what is rounded; 1.4·10⁻⁶ was seen.
    CHECK(gpu.generator().compare_without_cache().value < 3 * cache_limit(gpu.stage.shape));
    CHECK(gpu.generator().cache_bytes() == host.generator().cache_bytes());
    CHECK(gpu.generator().recorded());
    CHECK_FALSE(host.generator().recorded());
  }
}

TEST_CASE("a layer of few sequences is eight launches, with more of them fifteen") {
  const Shape small = {"small", 2, 12, 4, 2, 6, 10, 14}, of_32 = {"of_32", 2, 32, 2, 1, 16, 64, 14};
  const auto launches_of_a_step = [](int64_t sequences, bool bf16, const Shape& shape) {
    Tokens t(generating_gpu(bf16), {sequences, 1, 4}, shape);
    CHECK(t.generator().prefill().finite);
    CHECK(t.generator().step().finite);  // records
    const void* stream = dynamic_cast<GpuBackend&>(*t.backend).queue().stream().handle();
    const int before = fake_cuda_computed(const_cast<void*>(stream));
    CHECK(t.generator().step().finite);
    return fake_cuda_computed(const_cast<void*>(stream)) - before;
  };
  const int few = launches_of_a_step(8, false, small);
  CHECK(launches_of_a_step(9, false, small) - few == 2 * (15 - 8));
  CHECK(launches_of_a_step(1, false, small) == few);
  // What the head multiplies is rounded; where tensor cores take the sizes, up to sixteen.
  CHECK(launches_of_a_step(8, true, small) == few + 1);
  CHECK(launches_of_a_step(16, true, of_32) == few + 1);
}

TEST_CASE("what is recorded has the bits of what is not, for each position") {
  Tokens t(generating_gpu());
  t.generate();  // the first step is computed before it is recorded
  const auto hashes = t.generator().hashes();
  CHECK(t.generator().recorded());
  for (int again = 0; again < 2; ++again) {
    t.generate();
    CHECK(t.generator().hashes() == hashes);
  }
  // A second generator records for itself; the first one's memory must stay where it was.
  t.add({9, 30, 6});
  t.generate(1);
  t.generate();
  CHECK(t.generator().hashes() == hashes);
}

TEST_CASE("a sequence has the same tokens whatever stands beside it") {
  Tokens three(generating_gpu(), {3, 7, 6}), one(generating_gpu(), {1, 7, 6});
  three.generate();
  one.generate();
  const auto& all = three.generator().tokens();
  CHECK(std::vector<int32_t>(all.begin(), all.begin() + 13) == one.generator().tokens());
}

TEST_CASE("a flipped bit of the GPU's cache is found; a NaN is located, with its token") {
  for (const bool bf16 : {false, true}) {
    CAPTURE(bf16);
    Tokens t(generating_gpu(bf16));
    t.generate();
    const auto hashes = t.generator().hashes();
    CHECK(t.generator().prefill().finite);
    t.generator().spoil_cache(1, false);
    while (t.generator().chosen() < 6) CHECK(t.generator().step().finite);
    const auto spoilt = t.generator().hashes();
    CHECK(spoilt[0] == hashes[0]);  // the layer below knows nothing of it
    CHECK(spoilt[1] != hashes[1]);

    CHECK(t.generator().prefill().finite);
    CHECK(t.generator().step().finite);
    t.generator().spoil_cache(1, true);
    CHECK_FALSE(t.generator().step().finite);
    REQUIRE(t.generator().not_finite());
    CHECK(t.generator().not_finite()->part == PlaceInStep::Part::forward_attention);
    CHECK(t.generator().not_finite()->layer == 1);
    CHECK(t.generator().chosen() == 2);
    CHECK(t.generator().prefill().finite);  // which writes a cache of its own
    CHECK(t.generator().step().finite);
  }
}

TEST_CASE("bf16: half the cache; near the pass without it, and the same bits again") {
  const Shape small = {"small", 2, 12, 4, 2, 6, 10, 14}, of_32 = {"of_32", 2, 32, 2, 1, 16, 64, 14};
  const std::pair<Generation, Shape> kinds[] = {
      {{3, 7, 6}, small}, {{9, 7, 6}, small}, {{13, 2, 3}, of_32}};
  for (const auto& [generation, shape] : kinds) {
    Tokens wide(generating_gpu(), generation, shape), t(generating_gpu(true), generation, shape);
    wide.generate();
    t.generate();
    CHECK(2 * t.generator().cache_bytes() == wide.generator().cache_bytes());
    const double off = t.generator().compare_without_cache().value;
    CHECK(t.generator().hashes().at(2) != wide.generator().hashes().at(2));  // it is rounded
    CAPTURE(generation.sequences);
    CHECK(off < cache_limit(t.stage.shape, true));
    CHECK(cache_limit(t.stage.shape, true) == doctest::Approx(3 * std::sqrt(11.0 / 3) / 256));
    const auto hashes = t.generator().hashes();
    t.generate();
    CHECK(t.generator().hashes() == hashes);
  }
}

TEST_CASE("weights that are frozen are multiplied as they were, rounded, by either way") {
  const auto gpu = generating_gpu(true);
  const int64_t rows = 9, n = 6, k = 16, before = 3 * k;
  const auto a = gpu->allocate(rows * k), w = gpu->allocate(before + n * k),
             c = gpu->allocate(rows * n);
  gpu->normal(a.get(), {rows, k, 0, 0, k}, 1, 1);
  gpu->normal(w.get(), {n + 3, k, 0, 0, k}, 2, 1);
  gpu->freeze(w.get(), before + n * k);
  const auto rounded = [&](const float* from, int64_t count) {
    std::vector<float> out(static_cast<size_t>(count));
    gpu->look(out.data(), from, count);
    for (float& x : out) {  // to eight bits
      int exponent = 0;
      const float fraction = std::frexp(x, &exponent);
      x = std::ldexp(std::nearbyint(fraction * 256), exponent - 8);
    }
    return out;
  };
  const std::vector<float> va = rounded(a.get(), rows * k), vw = rounded(w.get() + before, n * k);
  for (const int64_t m : {int64_t{2}, rows}) {
    gpu->matmul({{m, n, k}, a.get(), k, false, w.get() + before, k, true, c.get(), n});
    std::vector<float> found(static_cast<size_t>(m * n));
    gpu->look(found.data(), c.get(), m * n);
    for (size_t i = 0; i < found.size(); ++i) {
      double sum = 0;
      for (size_t q = 0; q < static_cast<size_t>(k); ++q)
        sum += static_cast<double>(va[i / static_cast<size_t>(n) * static_cast<size_t>(k) + q]) *
               static_cast<double>(vw[i % static_cast<size_t>(n) * static_cast<size_t>(k) + q]);
      CHECK(found[i] == doctest::Approx(sum).epsilon(1e-5));
    }
  }
}

TEST_CASE("a probe multiplies by weights as the prompt does: they are rounded once") {
  const auto gpu = generating_gpu(true);
  auto& queue = dynamic_cast<GpuBackend&>(*gpu).queue();
  const MatmulKey key{9, 6, 16, false, true};
  Ledger ledger;
  ledger.matmuls[key] = 1;
  const auto computed = [&] { return fake_cuda_computed(queue.stream().handle()); };
  static_cast<void>(gpu->take_ledger());
  const int before = computed();
  CHECK(best_product_rate(*gpu, ledger) > 0);
  const auto calls = static_cast<int>(gpu->take_ledger().matmuls.at(key));
  REQUIRE(calls > 20);
  // A of each call is rounded, and the product; beside them what makes the arrays.
  CHECK(computed() - before >= 2 * calls);
  CHECK(computed() - before < 2 * calls + 20);
}

TEST_CASE("weights that are frozen end with their memory; others stay") {
  const auto gpu = generating_gpu(true);
  const auto c = gpu->allocate(9), a = gpu->allocate(9 * 16), kept = gpu->allocate(16);
  const std::vector<float> ones(9 * 16, 1), twos(16, 2), threes(16, 3);
  gpu->put(a.get(), ones.data(), 9 * 16);
  gpu->put(kept.get(), twos.data(), 16);
  gpu->freeze(kept.get(), 16);
  const auto product = [&](const float* b) {
    gpu->matmul({{9, 1, 16}, a.get(), 16, false, b, 16, true, c.get(), 1});
    float out = 0;
    gpu->look(&out, c.get(), 1);
    return out;
  };
  const int64_t before = gpu->allocated_bytes();
  const float* where = nullptr;
  for (const auto& values : {twos, threes}) {
    const auto other = gpu->allocate(16);
    if (where != nullptr && other.get() != where) MESSAGE("another address: nothing to be seen");
    where = other.get();
    gpu->put(other.get(), values.data(), 16);
    CHECK(product(other.get()) == 16 * values[0]);
    gpu->freeze(other.get(), 16);
    CHECK(product(other.get()) == 16 * values[0]);
    CHECK(product(kept.get()) == 32);
  }
  CHECK(gpu->allocated_bytes() == before);
}

TEST_CASE("what is held is what the device has given") {
  for (const bool bf16 : {false, true}) {
    cuda::select(0);
    const int64_t before = cuda::memory_info().free_bytes;
    Tokens t(generating_gpu(bf16), {9, 7, 6});
    t.generate();
    CHECK(t.generator().compare_without_cache().value < 1);
    CHECK(t.backend->held_bytes() == before - cuda::memory_info().free_bytes);
    CHECK(t.backend->held_bytes() > t.backend->allocated_bytes());
  }
}

TEST_CASE("memory is given back with the generator, what was recorded too") {
  cuda::select(0);
  const int64_t before = cuda::memory_info().free_bytes;
  {
    Tokens t(generating_gpu());
    t.generate();
    CHECK(cuda::memory_info().free_bytes < before);
  }
  CHECK(cuda::memory_info().free_bytes == before);
}

TEST_CASE("the rate of reading is above nothing and gives its array back") {
  const auto gpu = generating_gpu();
  const int64_t before = gpu->allocated_bytes();
  CHECK(device_read_rate(dynamic_cast<GpuBackend&>(*gpu), 4096) > 0);
  CHECK(gpu->allocated_bytes() == before);
}
