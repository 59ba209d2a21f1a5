// Generating with a cache of keys and values: as a pass over all tokens without one, the same bits
// again, and what a planted fault does.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "bench/training/generator.h"
#include "bench/training/host_backend.h"
#include "bench/training/infer_session.h"
#include "sys/cpu/affinity.h"

using namespace cb;
using namespace cb::training;

namespace {

// Each size differs from the others, so that a mixed-up one is seen; two heads share one of k, v.
template <typename Real>
struct Generating {
  // `far`: weights far from their start: gains that are not 1, scores that differ much.
  explicit Generating(const Generation& g = {3, 7, 6}, int threads = 1, bool far = true)
      : stage{.shape = {"small", 2, 12, 4, 2, 6, 10, 14}, .layout = {}, .batch = {}, .at = {}},
        team(std::vector<int>(static_cast<size_t>(threads), allowed_cpus().at(0))),
        backend(host_backend<Real>(team)),
        comm(single_comm()),
        fabric(connect<Real>(*comm, stage.layout)),
        text({stage.shape.vocabulary, 14, 0.5}, 3) {
    stage.forward_only = true;
    parameters = std::make_unique<Parameters<Real>>(*backend, stage, 7);
    for (int64_t i = 0; far && i < parameters->count(); ++i)
      parameters->weights()[i] = static_cast<Real>(
          0.4 * static_cast<double>(parameters->weights()[i]) / 0.02 + 0.1 * std::sin(double(i)));
    generator = std::make_unique<Generator<Real>>(*backend, fabric, stage, *parameters, g, text, 0);
    new_tokens = g.new_tokens;
  }

  void generate() {
    CHECK(generator->prefill().finite);
    while (generator->chosen() < new_tokens) CHECK(generator->step().finite);
  }

  Stage stage;
  Team team;
  std::unique_ptr<Backend<Real>> backend;
  std::unique_ptr<Comm> comm;
  Fabric<Real> fabric;
  Text text;
  std::unique_ptr<Parameters<Real>> parameters;
  std::unique_ptr<Generator<Real>> generator;
  int64_t new_tokens = 0;
};

}  // namespace

TEST_CASE("with a cache the logits of every new token are those of a pass over all tokens") {
  for (const Generation& g : {Generation{3, 7, 6}, Generation{1, 1, 2}, Generation{10, 3, 4},
                              Generation{1, 140, 3}}) {  // more rows than a block has, and batches
    Generating<double> t(g);
    t.generate();
    CHECK(t.generator->compare_without_cache().value < 1e-13);
    CHECK(t.generator->cache_bytes() ==
          2 * 2 * 2 * 6 * 8 * g.sequences * (g.prompt + g.new_tokens - 1));
  }
  Generating<float> single;
  single.generate();
  const double limit = cache_limit(single.stage.shape);
  CHECK(limit == doctest::Approx(2 * std::sqrt(12.0) * 3 / 16777216));
  CHECK(single.generator->compare_without_cache().value < limit);
}

namespace {

// As logits are: of a normal distribution.
std::vector<float> many_logits(size_t count) {
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> out(count);
  for (float& x : out) x = normal(random);
  return out;
}

}  // namespace

TEST_CASE("a lost tile of 128 logits, and one that is off, are beyond the limit among 128,256") {
  Shape shape{"llama-8b", 8, 4096, 32, 8, 128, 14336, 128256};
  const std::vector<float> whole = many_logits(128256);
  const auto off = [&](const std::vector<float>& with) {
    return difference_of_all(with.data(), whole.data(), whole.size());
  };
  std::vector<float> lost = whole;
  std::fill_n(lost.begin() + 1280, 128, 0.0F);
  CHECK(std::sqrt(128.0 / 128256) < cache_limit(shape, true));  // the root mean square alone
  CHECK(off(lost) > 10 * cache_limit(shape, true));

  std::vector<float> one = whole;  // in fp32 by a hundredth of the largest
  const float largest = *std::max_element(whole.begin(), whole.end());
  one[1280] += 0.01F * largest;
  CHECK(0.01 * double{largest} / std::sqrt(128256) < cache_limit(shape));
  CHECK(off(one) > 10 * cache_limit(shape));

  // What is a little off everywhere is what its root mean square says, in any number.
  std::vector<float> rounded = whole;
  const std::vector<float> noise = many_logits(256512);
  for (size_t i = 0; i < whole.size(); ++i) rounded[i] += 0.0151F * noise[i + whole.size()];
  CHECK(off(rounded) == doctest::Approx(0.0151).epsilon(0.1));
  one[7] = std::nanf("");
  CHECK(std::isnan(off(one)));
  CHECK(difference_of_all<float>(nullptr, nullptr, 0) == 0);
}

TEST_CASE("the new token is the one with the largest logit, and follows what was chosen before") {
  Generating<double> t({1, 4, 3});
  t.generate();
  // By training's own decoder: the tokens until then as one sequence.
  Stage whole = t.stage;
  whole.batch = {.sequence = 6, .sequences = 1, .micro_batches = 1};
  Watch<double> watch(*t.backend, 2, Fault());
  Decoder<double> decoder(*t.backend, t.fabric, whole, *t.parameters, watch, {});
  Tape<double> tape = decoder.make_tape();
  tape.tokens.assign(t.generator->tokens().begin(), t.generator->tokens().begin() + 6);
  decoder.forward(tape);
  for (int64_t place = 3; place < 6; ++place) {
    const double* row = decoder.logits(tape, place);
    const auto best = std::max_element(row, row + whole.shape.vocabulary) - row;
    CHECK(t.generator->tokens().at(static_cast<size_t>(place + 1)) == best);
  }
}

TEST_CASE("a second generation has the same bits; threads change no token") {
  Generating<float> a, b({3, 7, 6}, 3);
  a.generate();
  const auto tokens = a.generator->tokens();
  const auto hashes = a.generator->hashes();
  CHECK(hashes.size() == 2 + 6);  // layers and new tokens
  a.generate();
  CHECK(a.generator->tokens() == tokens);
  CHECK(a.generator->hashes() == hashes);
  b.generate();
  CHECK(b.generator->tokens() == tokens);
}

TEST_CASE("a sequence is generated alike whatever stands beside it") {
  Generating<double> three({3, 7, 6}), one({1, 7, 6});
  three.generate();
  one.generate();
  const auto& all = three.generator->tokens();
  CHECK(std::vector<int32_t>(all.begin(), all.begin() + 13) == one.generator->tokens());
}

TEST_CASE("a flipped bit of the cache is found by both checks; a NaN is located") {
  Generating<float> t({3, 7, 6}, 1, false);  // each position counts: no score is large
  t.generate();
  const auto hashes = t.generator->hashes();
  CHECK(t.generator->prefill().finite);
  t.generator->spoil_cache(1, false);
  while (t.generator->chosen() < 6) CHECK(t.generator->step().finite);
  const auto spoilt = t.generator->hashes();
  CHECK(spoilt[0] == hashes[0]);  // the layer below knows nothing of it
  CHECK(spoilt[1] != hashes[1]);
  const CacheError off = t.generator->compare_without_cache();
  CHECK(off.value > cache_limit(t.stage.shape));
  CHECK(off.new_token > 0);  // the first was the prompt's

  CHECK(t.generator->prefill().finite);
  t.generator->spoil_cache(1, true);
  CHECK_FALSE(t.generator->step().finite);
  REQUIRE(t.generator->not_finite());
  CHECK(t.generator->not_finite()->part == PlaceInStep::Part::forward_attention);
  CHECK(t.generator->not_finite()->layer == 1);
  CHECK(t.generator->not_finite()->micro_batch == 1);
  CHECK(t.generator->chosen() == 1);
}

// Rows, columns and depths around the blocks of the loops.
TEST_CASE("a product of few rows is exact on whole numbers, in all kernels") {
  std::vector<const RowKernels<float>*> tables{generic_kernels(), &row_kernels_of(float())};
  for (const RowKernels<float>* table : tables) {
    for (const int64_t k : {1, 3, 16, 37, 64}) {
      for (const int64_t n : {1, 4, 7, 9}) {
        std::vector<float> a(static_cast<size_t>(8 * k)), b(static_cast<size_t>(n * k));
        for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7) - 3;
        for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 5) - 2;
        for (const int64_t m : {1, 3, 4, 5, 8}) {
          std::vector<float> c(static_cast<size_t>(m * n), -1);
          table->few_rows({{m, n, k}, a.data(), k, false, b.data(), k, true, c.data(), n, 2, 0});
          for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < n; ++j) {
              float sum = 0;
              for (int64_t q = 0; q < k; ++q)
                sum += a[static_cast<size_t>(i * k + q)] * b[static_cast<size_t>(j * k + q)];
              CHECK(c[static_cast<size_t>(i * n + j)] == 2 * sum);
            }
        }
      }
    }
  }
}

TEST_CASE("a stage without a backward holds weights and no gradients") {
  Generating<float> t({1, 2, 2});
  CHECK(t.parameters->gradients() == nullptr);
  CHECK(t.parameters->mean() == nullptr);
}
