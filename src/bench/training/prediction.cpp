#include "bench/training/prediction.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "core/clock.h"
#include "core/stats.h"

namespace cb::training {
namespace {

constexpr int kRepeats = 3;
constexpr double kProbeSeconds = 0.03;  // a short product is repeated for so long

// The median of a call's seconds until its result is there; the first call is not counted.
double seconds_of(Backend<float>& backend, const std::function<void()>& queued) {
  const auto call = [&] {
    queued();
    backend.finish();
  };
  call();
  std::vector<double> all;
  const double begin = monotonic_seconds();
  for (int i = 0; i < kRepeats || monotonic_seconds() - begin < kProbeSeconds; ++i) {
    const double start = monotonic_seconds();
    call();
    all.push_back(monotonic_seconds() - start);
  }
  return median(all);
}

double product_seconds(Backend<float>& backend, const MatmulKey& key) {
  const auto a = backend.allocate(key.m * key.k), b = backend.allocate(key.k * key.n);
  const auto c = backend.allocate(key.m * key.n);
  backend.normal(a.get(), {1, key.m * key.k, 0, 0, key.m * key.k}, 1, 1);
  backend.normal(b.get(), {1, key.k * key.n, 0, 0, key.k * key.n}, 2, 1);
  const int64_t lda = key.transpose_a ? key.m : key.k, ldb = key.transpose_b ? key.k : key.n;
  // The gradients of weights are the products with a transposed A: they add to what is there.
  const float beta = key.transpose_a ? 1 : 0;
  return seconds_of(backend, [&] {
    backend.matmul({{key.m, key.n, key.k},
                    a.get(),
                    lda,
                    key.transpose_a,
                    b.get(),
                    ldb,
                    key.transpose_b,
                    c.get(),
                    key.n,
                    1,
                    beta});
  });
}

double attention_seconds(Backend<float>& backend, const Stage& stage, const Ledger& ledger) {
  const AttentionShape s = stage.attention();
  const int64_t wide = s.tokens() * s.heads * s.dim;
  const auto qkv = backend.allocate(s.tokens() * s.stride());
  const auto dqkv = backend.allocate(s.tokens() * s.stride());
  const auto out = backend.allocate(wide), dout = backend.allocate(wide);
  const auto sums = backend.allocate(s.tokens() * s.heads);
  backend.normal(qkv.get(), {s.tokens(), s.stride(), 0, 0, s.stride()}, 3, 1);
  backend.normal(dout.get(), {1, wide, 0, 0, wide}, 4, 1);
  const double forward =
      seconds_of(backend, [&] { backend.attention(qkv.get(), out.get(), sums.get(), s); });
  const double backward = seconds_of(backend, [&] {
    backend.attention_backward(qkv.get(), out.get(), dout.get(), sums.get(), dqkv.get(), s);
  });
  return forward * static_cast<double>(ledger.attention_forwards) +
         backward * static_cast<double>(ledger.attention_backwards);
}

// Bytes per second of adding arrays as long as the residual stream of a micro-batch: what lies in
// the caches in a step lies there in the probe.
double memory_rate(Backend<float>& backend, int64_t elements) {
  const auto to = backend.allocate(elements), from = backend.allocate(elements);
  const double seconds = seconds_of(backend, [&] { backend.add(to.get(), from.get(), elements); });
  return 3.0 * static_cast<double>(elements) * sizeof(float) / seconds;
}

constexpr int64_t kMostElements = int64_t{1} << 24;  // of the optimizer's arrays

// Bytes per second of the optimizer's own loop on all of this rank's parameters.
double optimizer_rate(Backend<float>& backend, int64_t elements) {
  const int64_t count = std::clamp<int64_t>(elements, 1, kMostElements);
  const auto w = backend.allocate(count), g = backend.allocate(count);
  const auto m = backend.allocate(count), v = backend.allocate(count);
  AdamStep step;
  step.rate = 1e-3;
  const double seconds =
      seconds_of(backend, [&] { backend.adamw(w.get(), g.get(), m.get(), v.get(), count, step); });
  return 7.0 * static_cast<double>(count) * sizeof(float) / seconds;
}

// One pair of all_gather and reduce_scatter, times the pairs of a step: two a layer forward, two
// backward, and one each for the embedding and the head.
double exchange_seconds(Backend<float>& backend, Fabric<float>& fabric, const Stage& stage) {
  if (fabric.tensor->size() == 1) return 0;
  const int64_t own = stage.own_tokens() * stage.shape.hidden;
  const auto part = backend.allocate(own), whole = backend.allocate(own * stage.layout.tensor);
  std::vector<double> all;
  for (int i = 0; i <= kRepeats; ++i) {
    const double start = monotonic_seconds();
    fabric.tensor->all_gather(part.get(), whole.get(), own);
    fabric.tensor->reduce_scatter(whole.get(), part.get(), own);
    if (i > 0) all.push_back(monotonic_seconds() - start);
  }
  const auto layers = static_cast<double>(stage.layers());
  const double passes = stage.recompute ? 6 : 4;
  const double ends = (stage.first() ? 1 : 0) + (stage.last() ? 1 : 0);
  return median(all) * (passes * layers + ends) * static_cast<double>(stage.batch.micro_batches);
}

}  // namespace

int64_t probe_elements(const Stage& stage) {
  const AttentionShape a = stage.attention();
  const int64_t n = stage.tokens(), h = stage.shape.hidden;
  const auto product = [](int64_t rows, int64_t out, int64_t in) {
    return rows * (out + in) + out * in;
  };
  return std::max({product(rows_of_head(stage), stage.vocabulary().count, h),
                   product(n, 2 * stage.feed_forward(), h), product(n, a.stride(), h),
                   2 * n * (a.stride() + a.heads * a.dim + a.heads),
                   4 * std::min(kMostElements, stored_parameters(stage.shape))});
}

double best_product_rate(Backend<float>& backend, const Ledger& ledger) {
  double best = 0;
  for (const auto& [key, count] : ledger.matmuls) {
    const double operations =
        2.0 * static_cast<double>(key.m) * static_cast<double>(key.n) * static_cast<double>(key.k);
    best = std::max(best, operations / product_seconds(backend, key));
  }
  return best;
}

Prediction predict(Comm& comm, Backend<float>& backend, Fabric<float>& fabric, const Stage& stage,
                   const Ledger& ledger, Trainer<float>& trainer) {
  Prediction out;
  comm.barrier();  // all ranks probe at the same time, as they computed
  for (const auto& [key, count] : ledger.matmuls)
    out.matmul += product_seconds(backend, key) * static_cast<double>(count);
  out.attention = attention_seconds(backend, stage, ledger);
  out.elementwise =
      ledger.elementwise_bytes / memory_rate(backend, stage.own_tokens() * stage.shape.hidden);
  out.optimizer = ledger.optimizer_bytes / optimizer_rate(backend, trainer.parameters().count());
  comm.barrier();
  out.exchange = exchange_seconds(backend, fabric, stage);
  comm.barrier();
  std::vector<double> alone;
  for (int i = 0; i < kRepeats; ++i) alone.push_back(trainer.communication_alone());
  out.gradients = stage.layout.data > 1 ? median(alone) : 0;
  out.bubble = (out.computing() - out.optimizer + out.exchange) *
               bubble_of_ideal(stage.layout.pipeline, stage.batch.micro_batches);
  return out;
}

}  // namespace cb::training
