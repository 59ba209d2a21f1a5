// In bf16, on a stand-in GPU with the real kernels: what the limit of `cache` lets pass, and what
// is beyond it.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "bench/training/cuda/cuda_backend.h"
#include "bench/training/generator.h"
#include "bench/training/infer_session.h"

using namespace cb;
using namespace cb::training;

namespace {

std::unique_ptr<Backend<float>> deep_gpu() {
  const auto opened = cublaslt::open();
  REQUIRE(std::holds_alternative<cublaslt::Library>(opened));
  cuda::select(0);
  return cuda_backend(std::get<cublaslt::Library>(opened),
                      {.attention_block_rows = 4, .bf16 = true, .generates = true});
}

// Deep, and each layer does as much as one of 4,096 elements: its matrices are √(4096/64) times as
// large. Roundings of each layer add up.
struct Deep {
  explicit Deep(int64_t layers, int64_t vocabulary = 64)
      : stage{.shape = {"deep", layers, 64, 8, 2, 8, 224, vocabulary},
              .layout = {},
              .batch = {},
              .at = {}},
        backend(deep_gpu()),
        comm(single_comm()),
        fabric(connect<float>(*comm, stage.layout)),
        text({stage.shape.vocabulary, 64, 0.5}, 3) {
    stage.forward_only = true;
    parameters = std::make_unique<Parameters<float>>(*backend, stage, 7);
    std::vector<float> w = weights();
    for (int64_t layer = 0; layer < layers; ++layer) {
      const LayerWeights<float> of = parameters->layer(layer);
      const auto first = of.qkv - parameters->weights();
      const auto end = of.down - parameters->weights() + 64 * stage.shape.feed_forward;
      std::for_each(w.begin() + first, w.begin() + end, [](float& x) { x *= 8; });
    }
    set(w);
    generator = std::make_unique<Generator<float>>(*backend, fabric, stage, *parameters,
                                                   Generation{1, kPrompt, 3}, text, 0);
  }
  std::vector<float> weights() const {
    std::vector<float> w(static_cast<size_t>(parameters->count()));
    backend->look(w.data(), parameters->weights(), parameters->count());
    return w;
  }
  void set(const std::vector<float>& w) {
    backend->put(parameters->weights(), w.data(), parameters->count());
    backend->freeze(parameters->weights(), parameters->count());
  }
  // Of decode steps with weights to which something was done.
  double error_with(const std::function<void(std::vector<float>&)>& damage) {
    CHECK(generator->prefill().finite);
    const std::vector<float> whole = weights();
    std::vector<float> w = whole;
    damage(w);
    set(w);
    while (generator->chosen() < 3) CHECK(generator->step().finite);
    set(whole);
    return generator->compare_without_cache().value;
  }
  // What attention of so many of the eight heads adds is lost, in each layer from `first` on.
  double error_without(int64_t heads, int64_t first = 0) {
    return error_with([&](std::vector<float>& w) {
      for (int64_t layer = first; layer < stage.shape.layers; ++layer) {
        const auto out = parameters->layer(layer).out - parameters->weights();
        for (int64_t row = 0; row < 64; ++row)
          std::fill_n(w.begin() + out + row * 64, heads * 8, 0.0F);
      }
    });
  }
  double error_without_logits(int64_t first, int64_t count) {
    return error_with([&](std::vector<float>& w) {
      const auto head = parameters->head(parameters->weights()) - parameters->weights();
      std::fill_n(w.begin() + head + first * 64, count * 64, 0.0F);
    });
  }

  static constexpr int64_t kPrompt = 16;
  Stage with(int64_t tokens) const {
    Stage out = stage;
    out.batch = {.sequence = tokens, .sequences = 1, .micro_batches = 1};
    return out;
  }
  std::vector<double> pass(const Stage& of, std::vector<int32_t> tokens, KvCache<float>* cache) {
    Watch<float> watch(*backend, stage.shape.layers, Fault());
    Decoder<float> decoder(*backend, fabric, of, *parameters, watch, {});
    Tape<float> tape = decoder.make_tape();
    tape.tokens = std::move(tokens);
    decoder.forward(tape, cache);
    const float* last = decoder.logits(tape, of.batch.sequence - 1);
    std::vector<float> out(static_cast<size_t>(stage.shape.vocabulary));
    backend->look(out.data(), last, stage.shape.vocabulary);
    return {out.begin(), out.end()};
  }
  // The token behind the prompt, of a cache to which something was done.
  double error_of(const std::function<void(KvCache<float>&)>& damage) {
    std::vector<int32_t> all;
    for (int32_t i = 0; i <= kPrompt; ++i) all.push_back(7 * i % 64);
    KvCache<float> cache(*backend, with(1), kPrompt + 2);
    const std::vector<double> whole = pass(with(kPrompt + 1), all, nullptr);
    static_cast<void>(pass(with(kPrompt), {all.begin(), all.end() - 1}, &cache));
    damage(cache);
    const std::vector<double> step = pass(with(1), {all.back()}, &cache);
    double off = 0, size = 0;
    for (size_t i = 0; i < whole.size(); ++i) {
      off += (step[i] - whole[i]) * (step[i] - whole[i]);
      size += whole[i] * whole[i];
    }
    return std::sqrt(off / size);
  }

  Stage stage;
  std::unique_ptr<Backend<float>> backend;
  std::unique_ptr<Comm> comm;
  Fabric<float> fabric;
  Text text;
  std::unique_ptr<Parameters<float>> parameters;
  std::unique_ptr<Generator<float>> generator;
};

}  // namespace

TEST_CASE("bf16: the limit lies between roundings and a head that is lost in every layer") {
  for (const int64_t layers : {2, 8, 32}) {
    CAPTURE(layers);
    Deep whole(layers), headless(layers);
    const double limit = cache_limit(whole.stage.shape, true);
    CHECK(limit == doctest::Approx(3.0 / 256 * std::sqrt((5.0 * double(layers) + 1) / 3)));
    CHECK(whole.error_without(0) < limit);  // of 64 numbers a layer, 0.036 was seen with 8
    CHECK(headless.error_without(1) > 2 * limit);
  }
}

TEST_CASE("bf16: one head of eight that is lost in the last of eight layers is beyond the limit") {
  Deep deep(8);
  CHECK(deep.error_without(1, 7) > 2 * cache_limit(deep.stage.shape, true));  // 0.114 was seen
}

TEST_CASE("bf16: a cache that is off by a position and a high bit in it are beyond the limit") {
  Deep deep(8);
  const double limit = cache_limit(deep.stage.shape, true);
  CHECK(deep.error_of([](KvCache<float>&) {}) < limit);
  CHECK(deep.error_of([](KvCache<float>& cache) { --cache.length; }) > 2 * limit);
  CHECK(deep.error_of([](KvCache<float>& cache) { ++cache.length; }) > 2 * limit);
  const double flipped = deep.error_of([&](KvCache<float>& cache) {
    std::vector<float> kept(static_cast<size_t>(cache.numbers()));
    float* of_layer = cache.layers[4].get();
    deep.backend->look(kept.data(), of_layer, cache.numbers());
    float& pair = kept[static_cast<size_t>(8 * 16 + 12)];  // of 2 · 2 heads of 8, two in a word
    pair = std::bit_cast<float>(std::bit_cast<uint32_t>(pair) ^ 0x40000000U);
    deep.backend->put(of_layer, kept.data(), cache.numbers());
  });
  CHECK_FALSE(flipped <= 2 * limit);  // a NaN is beyond it, too
}

TEST_CASE("bf16: more logits make no larger difference, and hide no few that are lost") {
  Deep many(8, 4096), lost(8, 4096);
  const double limit = cache_limit(many.stage.shape, true);
  CHECK(many.error_without(0) < limit / 2);
  CHECK(std::sqrt(4.0 / 4096) < limit);  // the root mean square alone
  CHECK(lost.error_without_logits(2048, 4) > 2 * limit);
}
