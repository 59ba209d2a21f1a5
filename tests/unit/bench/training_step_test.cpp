// Training steps in single precision: the curve of the loss, repeatability, threads, and faults.
#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "bench/training/host_backend.h"
#include "bench/training/prediction.h"
#include "bench/training/step_loops.h"
#include "bench/training/trainer.h"
#include "sys/cpu/affinity.h"
#include "tests/unit/training_run.h"

using namespace cb;
using namespace cb::training;

namespace {

Stage tiny_stage(int64_t micro_batches = 1) {
  Stage out;
  out.shape = *find_shape("tiny");
  out.batch = {.sequence = 32, .sequences = 2, .micro_batches = micro_batches};
  return out;
}

struct OneTeam {
  Team team;
};

struct Training : OneTeam, TrainingRun {
  explicit Training(const Stage& stage = tiny_stage(), Fault fault = {}, int threads = 1)
      : OneTeam{Team(std::vector<int>(static_cast<size_t>(threads), allowed_cpus().at(0)))},
        TrainingRun(host_backend<float>(team), stage, fault) {}
};

}  // namespace

TEST_CASE("the same steps give the same bits") {
  Training a, b;
  CHECK(a.losses(10) == b.losses(10));
  CHECK(a.trainer.weights_hash() == b.trainer.weights_hash());
  CHECK(a.trainer.step().loss == b.trainer.step().loss);
}

TEST_CASE("the first loss is that of a head that knows nothing, and it falls") {
  Training t;
  const std::vector<double> losses = t.losses(60);
  CHECK(losses[0] == doctest::Approx(first_loss(512, 64 * 0.02 * 0.02)).epsilon(0.005));
  CHECK(losses[59] < std::log(256.0));
}

TEST_CASE(
    "computing layers again, and micro-batches in other parts, change no more than rounding") {
  Stage again = tiny_stage(2);
  again.recompute = true;
  Training plain(tiny_stage(2)), recomputed(again);
  CHECK(plain.losses(4) == recomputed.losses(4));
  CHECK(plain.trainer.weights_hash() == recomputed.trainer.weights_hash());
  Stage one = tiny_stage();
  one.batch = {.sequence = 32, .sequences = 4, .micro_batches = 1};
  Training whole(one), parts(tiny_stage(2));
  const auto a = whole.losses(8), b = parts.losses(8);
  for (size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-5));
}

TEST_CASE("threads change no more than rounding") {
  Stage wide = tiny_stage();
  wide.batch = {.sequence = 64, .sequences = 8, .micro_batches = 1};  // enough to wake the team
  Training one(wide), three(wide, {}, 3);
  const auto a = one.losses(5), b = three.losses(5);
  for (size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-5));
}

TEST_CASE("a twin step changes nothing and repeats itself; a flipped bit shows where it was") {
  Training healthy;
  const auto loss = healthy.trainer.step().loss;
  CHECK(loss > 0);
  const uint64_t before = healthy.trainer.weights_hash();
  const auto first = healthy.trainer.twin_step(true), second = healthy.trainer.twin_step(true);
  CHECK(first == second);
  CHECK(healthy.trainer.weights_hash() == before);
  // Attention and feed-forward of two layers there and back, the head, and 2 + 2·6 + … tensors.
  CHECK(first.size() == 4 + 1 + 4 + 1 + 2 * 6 + 2);

  Training faulty(tiny_stage(), {Fault::Kind::bitflip, 0, 1});
  const auto bad = faulty.trainer.twin_step(true), good = faulty.trainer.twin_step(false);
  const auto parted = first_difference(bad, good);
  REQUIRE(parted);
  const PlaceInStep place = PlaceInStep::of_order(*parted, 2);
  CHECK(place.part == PlaceInStep::Part::forward_feed_forward);
  CHECK(place.layer == 1);
}

TEST_CASE("a NaN or an infinity stops the update and tells its layer") {
  for (const Fault::Kind kind : {Fault::Kind::nan, Fault::Kind::inf}) {
    Training t(tiny_stage(), {kind, 0, 1});
    const uint64_t before = t.trainer.weights_hash();
    const StepResult result = t.trainer.step();
    CHECK_FALSE(result.updated);
    CHECK(t.trainer.weights_hash() == before);
    REQUIRE(t.trainer.not_finite());
    CHECK(t.trainer.not_finite()->part == PlaceInStep::Part::forward_feed_forward);
    CHECK(t.trainer.not_finite()->layer == 1);
  }
}

// Operations of the products that a step has counted, a multiplication and an addition each.
double counted_operations(const Ledger& ledger) {
  double out = 0;
  for (const auto& [key, count] : ledger.matmuls)
    out += 2.0 * static_cast<double>(key.m * key.n * key.k * count);
  return out;
}

TEST_CASE("the products of a step are those of the formula, on ten shapes") {
  // The text has 256 symbols.
  const Shape shapes[] = {{"a", 1, 16, 2, 1, 8, 24, 300},  {"b", 3, 16, 2, 2, 8, 24, 257},
                          {"c", 2, 24, 3, 1, 8, 40, 512},  {"d", 2, 32, 4, 2, 8, 48, 640},
                          {"e", 1, 32, 4, 4, 16, 48, 512}, {"f", 5, 8, 1, 1, 8, 8, 256},
                          {"g", 2, 64, 8, 2, 8, 192, 384}, {"h", 1, 40, 5, 1, 4, 56, 1000},
                          {"i", 4, 16, 4, 2, 4, 20, 320},  *find_shape("tiny")};
  for (const Shape& shape : shapes) {
    CAPTURE(shape.name);
    for (const bool recompute : {false, true}) {
      Stage stage = tiny_stage(2);
      stage.shape = shape;
      stage.recompute = recompute;
      Training t(stage);
      static_cast<void>(t.backend->take_ledger());
      t.trainer.step();
      const Ledger ledger = t.backend->take_ledger();
      const auto tokens = static_cast<double>(stage.batch.tokens());
      const int64_t layers = layer_matmul_parameters(shape) * shape.layers;
      const double again = recompute ? 2.0 * static_cast<double>(layers) : 0;
      CHECK(counted_operations(ledger) ==
            (6.0 * static_cast<double>(matmul_parameters(shape)) + again) * tokens);
      CHECK(ledger.attention_forwards ==
            shape.layers * stage.batch.micro_batches * (recompute ? 2 : 1));
      CHECK(ledger.attention_backwards == shape.layers * stage.batch.micro_batches);
    }
  }
}

TEST_CASE("the memory model gives the bytes that are allocated") {
  Stage stage = tiny_stage();
  Training t(stage);
  const Memory expected = memory_of_rank(stage.shape, stage.layout, stage.batch, 4, false);
  // Scratch of one layer and of the head is not in the model; the rest is within 1 %.
  const int64_t n = stage.tokens(), h = 64;
  const int64_t scratch = n * h * 2 + n * 192 + n * 128 + 64 * 512 + n * h * 2 + 3 * 64;
  const auto found = static_cast<double>(t.backend->allocated_bytes());
  CHECK(found == doctest::Approx(expected.total() + 4.0 * static_cast<double>(scratch + 2 * n * h))
                     .epsilon(0.1));
}

TEST_CASE("the loops by the stage are those that a step has run") {
  for (const int64_t micro_batches : {1, 3}) {
    for (const bool recompute : {false, true}) {
      for (const int64_t vocabulary : {512, 1 << 17}) {  // one chunk of logits, and several
        Stage stage = tiny_stage(micro_batches);
        stage.recompute = recompute;
        stage.shape.vocabulary = vocabulary;
        Training t(stage);
        static_cast<void>(t.backend->take_ledger());
        t.trainer.step();
        double bytes = 4.0 * static_cast<double>(t.trainer.parameters().count());  // zeroed
        for (const StepLoop& loop : loops_of_step(stage, rows_of_head(stage)))
          bytes += bytes_of(loop);
        CHECK(bytes == t.backend->take_ledger().elementwise_bytes);
      }
    }
  }
}

TEST_CASE("a prediction has every part of a step of one rank, and no exchange") {
  const Stage stage = tiny_stage();
  Training t(stage);
  static_cast<void>(t.backend->take_ledger());
  t.trainer.step();
  const Ledger ledger = t.backend->take_ledger();
  const Prediction p = predict(*t.comm, *t.backend, t.fabric, stage, ledger, t.trainer);
  for (const double part : {p.matmul, p.attention, p.elementwise, p.optimizer}) CHECK(part > 0);
  CHECK(p.exchange + p.gradients + p.gradients_alone + p.bubble == 0);
  CHECK(p.step() == doctest::Approx(p.matmul + p.attention + p.elementwise + p.optimizer));
}
