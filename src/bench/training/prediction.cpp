#include "bench/training/prediction.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "bench/training/probe.h"
#include "bench/training/step_loops.h"
#include "core/clock.h"
#include "core/stats.h"

namespace cb::training {
namespace {

constexpr int kRepeats = 3;
constexpr int kRehearsals = 5;
constexpr double kLongRehearsal = 1;  // seconds: what disturbs a host is small beside it
constexpr int64_t kMostElements = int64_t{1} << 24;  // of the optimizer's arrays
constexpr int64_t kMostOnDevice = int64_t{1} << 27;  // there a launch is much of a short one

// A product of that shape on arrays of its own, to be called again and again. Where A is not
// transposed, B is weights: of the forward if B is, else of the backward.
std::function<void()> product_call(Backend<float>& backend, const MatmulKey& key) {
  const auto a = backend.allocate(key.m * key.k), b = backend.allocate(key.k * key.n);
  const auto c = backend.allocate(key.m * key.n);
  backend.normal(a.get(), {1, key.m * key.k, 0, 0, key.m * key.k}, 1, 1);
  backend.normal(b.get(), {1, key.k * key.n, 0, 0, key.k * key.n}, 2, 1);
  if (key.transpose_b) backend.freeze(b.get(), key.k * key.n);
  if (!key.transpose_a) backend.keep_rounded(b.get(), key.k * key.n);
  // The gradients of weights are the products with a transposed A: they add to what is there.
  return [&backend, key, a, b, c] {
    const int64_t lda = key.transpose_a ? key.m : key.k, ldb = key.transpose_b ? key.k : key.n;
    const Product<float> product{{key.m, key.n, key.k},
                                 a.get(),
                                 lda,
                                 key.transpose_a,
                                 b.get(),
                                 ldb,
                                 key.transpose_b,
                                 c.get(),
                                 key.n,
                                 1,
                                 key.transpose_a ? 1.0F : 0.0F};
    key.of_head ? backend.head_matmul(product) : backend.matmul(product);
  };
}

// As in a step: what weights are in the products' type is kept, and the product of the gradients of
// weights comes behind another one of the same A, which a device need not prepare again.
double product_seconds(Backend<float>& backend, const MatmulKey& key) {
  const auto call = product_call(backend, key);
  const auto nothing = [] {};
  const double one = seconds_of(backend, nothing, call);
  if (!key.transpose_a || backend.on_host()) return one;
  const double two = seconds_of(backend, nothing, [&] { call(), call(); });
  return std::clamp(two - one, one / 2, one);
}

double operations_of(const MatmulKey& key) {
  return 2.0 * static_cast<double>(key.m) * static_cast<double>(key.n) * static_cast<double>(key.k);
}

struct Attention {
  double forward = 0;  // of a step
  double backward = 0;
};

Attention attention_seconds(Backend<float>& backend, const Stage& stage, const Ledger& ledger) {
  const AttentionShape s = stage.attention();
  const int64_t wide = s.tokens() * s.heads * s.dim;
  const auto qkv = backend.allocate(s.tokens() * s.stride());
  const auto dqkv = backend.allocate(s.tokens() * s.stride());
  const auto out = backend.allocate(wide), dout = backend.allocate(wide);
  const auto sums = backend.allocate(s.tokens() * s.heads);
  backend.normal(qkv.get(), {s.tokens(), s.stride(), 0, 0, s.stride()}, 3, 1);
  backend.normal(dout.get(), {1, wide, 0, 0, wide}, 4, 1);
  const double forward = seconds_of(
      backend, [] {}, [&] { backend.attention(qkv.get(), out.get(), sums.get(), s); });
  const double backward = seconds_of(
      backend, [] {},
      [&] {
        backend.attention_backward(qkv.get(), out.get(), dout.get(), sums.get(), dqkv.get(), s);
      });
  return {forward * static_cast<double>(ledger.attention_forwards),
          backward * static_cast<double>(ledger.attention_backwards)};
}

// Zeroing the gradients, their norm and the update, for all of this rank's parameters. Between two
// of them a step touches more than the caches hold, if its parameters are more than that.
double optimizer_seconds(Backend<float>& backend, const Parameters<float>& parameters) {
  const int64_t all = parameters.count(), share = parameters.state_count();
  const int64_t most = backend.on_host() ? kMostElements : kMostOnDevice;
  const int64_t count = std::clamp<int64_t>(all, 1, most);
  const auto w = backend.allocate(count), g = backend.allocate(count);
  const auto m = backend.allocate(count), v = backend.allocate(count);
  AdamStep step;
  step.rate = 1e-3;
  const auto touch_others = [&] {
    for (const auto& one : {w, m, v}) static_cast<void>(backend.sum_squares(one.get(), count));
  };
  const double zeroing = seconds_of(backend, touch_others, [&] { backend.zero(g.get(), count); });
  const double updating = seconds_of(backend, touch_others, [&] {
    static_cast<void>(backend.sum_squares(g.get(), count));
    backend.adamw(w.get(), g.get(), m.get(), v.get(), count, step);
  });
  return (zeroing * static_cast<double>(all) + updating * static_cast<double>(share)) /
         static_cast<double>(count);
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
    backend.finish();
    if (i > 0) all.push_back(monotonic_seconds() - start);
  }
  const auto layers = static_cast<double>(stage.layers());
  const double passes = stage.recompute ? 6 : 4;
  const double ends = (stage.first() ? 1 : 0) + (stage.last() ? 1 : 0);
  return median(all) * (passes * layers + ends) * static_cast<double>(stage.batch.micro_batches);
}

// Seconds of a layer's backward in the last micro-batch, which is when gradients are exchanged.
double backward_of_layer(const Prediction& p, double attention_backward, const Stage& stage) {
  const int64_t of_layer = layer_matmul_parameters(stage.shape);
  const int64_t head =
      stage.last() ? matmul_parameters(stage.shape) - of_layer * stage.shape.layers : 0;
  const auto layers = static_cast<double>(stage.layers());
  const double products = layers * static_cast<double>(of_layer);
  const double of_layers = products / (products + static_cast<double>(head));
  const double share = stage.recompute ? 3.0 / 4 : 2.0 / 3;
  return (share * of_layers * p.matmul + attention_backward + p.elementwise / 2) /
         static_cast<double>(stage.batch.micro_batches) / layers;
}

bool is_of_head(const MatmulKey& key, const Stage& stage) {
  const int64_t vocabulary = stage.vocabulary().count, h = stage.shape.hidden;
  if (key.transpose_a) return key.m == vocabulary && key.n == h;
  return key.transpose_b ? key.n == vocabulary && key.k == h : key.k == vocabulary && key.n == h;
}

// The head's gradients are the first to be exchanged: its products are over by then.
std::optional<MatmulKey> longest_of_layers(const Ledger& ledger, const Stage& stage) {
  std::optional<MatmulKey> out;
  for (const auto& [key, count] : ledger.matmuls) {
    if (is_of_head(key, stage)) continue;
    if (!out || operations_of(key) > operations_of(*out)) out = key;
  }
  return out;
}

// What the exchanges of gradients add to a backward: its products alone stand for it, as many of
// the layers' longest as take that time. All wait for the slowest rank, with and without exchanges.
double exposed_gradients(Comm& comm, Backend<float>& backend, Trainer<float>& trainer,
                         const Stage& stage, const Ledger& ledger, double layer_seconds) {
  const auto longest = longest_of_layers(ledger, stage);
  if (!longest) return 0;
  const auto product = product_call(backend, *longest);
  const double wanted = layer_seconds / seconds_of(
                                            backend, [] {}, product);
  double owed = 0;
  const auto backward = [&] {
    for (owed += wanted; owed >= 1; --owed) {
      product();
      trainer.poll();
    }
  };
  const size_t turns = trainer.parameters().blocks().size() - 1;
  const auto slowest = [&](const std::function<void()>& call) {
    owed = 0;
    comm.barrier();
    const double start = monotonic_seconds();
    call();
    backend.finish();
    return comm.max(monotonic_seconds() - start);
  };
  const auto rehearse = [&](double& exposed) {
    const double beside = slowest([&] { static_cast<void>(trainer.rehearse_exchanges(backward)); });
    const double alone = slowest([&] {
      for (size_t turn = 0; turn < turns; ++turn) backward();
    });
    exposed += beside - alone;
    return beside;
  };
  double first = 0, exposed = 0;
  const int rehearsals = rehearse(first) < kLongRehearsal ? kRehearsals : 2;
  for (int i = 0; i < rehearsals; ++i) rehearse(exposed);
  return std::max(0.0, exposed / rehearsals);
}

// Of the replicas: a step's exchanges with nothing beside them.
double gradients_alone(Comm& comm, Trainer<float>& trainer) {
  const int repeats = comm.max(trainer.rehearse_exchanges([] {})) < kLongRehearsal ? kRepeats : 1;
  double sum = 0;
  for (int i = 0; i < repeats; ++i) sum += trainer.rehearse_exchanges([] {});
  return sum / repeats;
}

}  // namespace

int64_t longest_operand(const Stage& stage) {
  const AttentionShape a = stage.attention();
  const int64_t h = stage.shape.hidden, n = stage.tokens(), wide = 2 * stage.feed_forward();
  const int64_t out = std::max({wide, a.stride(), a.heads * a.dim, h});
  const int64_t head = std::max(rows_of_head(stage), h) * stage.vocabulary().count;
  return std::max({head, n * out, out * h});
}

int64_t probe_elements(const Stage& stage) {
  const AttentionShape a = stage.attention();
  const int64_t n = stage.tokens(), h = stage.shape.hidden;
  const auto product = [](int64_t rows, int64_t out, int64_t in) {
    return rows * (out + in) + out * in;
  };
  return std::max({product(rows_of_head(stage), stage.vocabulary().count, h),
                   product(n, 2 * stage.feed_forward(), h), product(n, a.stride(), h),
                   2 * n * (a.stride() + a.heads * a.dim + a.heads),
                   4 * std::min(kMostOnDevice, stored_parameters(stage.shape)),
                   loop_probe_elements(stage)});
}

double probing_patience(double step) {
  // Two hundred short probes of 0.3 s, as probe.cpp repeats them; four calls of each long part by
  // predict() and by best_product_rate(), and twice that where ranks share cores.
  constexpr double kOfShortOnes = 60, kSteps = 2 * (4 + 4) + 4;
  return kOfShortOnes + kSteps * step;
}

double best_product_rate(Backend<float>& backend, const Ledger& ledger,
                         const std::function<void()>& moved) {
  double best = 0;
  for (const auto& [key, count] : ledger.matmuls) {
    best = std::max(best, operations_of(key) / product_seconds(backend, key));
    moved();
  }
  return best;
}

Prediction predict(Comm& comm, Backend<float>& backend, Fabric<float>& fabric, const Stage& stage,
                   const Ledger& ledger, Trainer<float>& trainer,
                   const std::function<void()>& moved) {
  Prediction out;
  const int64_t of_step = backend.allocated_bytes();
  comm.barrier();  // all ranks probe at the same time, as they computed
  for (const auto& [key, count] : ledger.matmuls) {
    out.matmul += product_seconds(backend, key) * static_cast<double>(count);
    moved();
  }
  const Attention attention = attention_seconds(backend, stage, ledger);
  out.attention = attention.forward + attention.backward;
  moved();
  out.elementwise =
      LoopProbe(backend, stage, loops_of_step(stage, rows_of_head(stage)), of_step).step_seconds();
  moved();
  out.optimizer = optimizer_seconds(backend, trainer.parameters());
  moved();
  comm.barrier();
  out.exchange = exchange_seconds(backend, fabric, stage);
  moved();
  if (stage.layout.data > 1) {
    comm.barrier();
    out.gradients_alone = gradients_alone(comm, trainer);
    moved();
    out.gradients = exposed_gradients(comm, backend, trainer, stage, ledger,
                                      backward_of_layer(out, attention.backward, stage));
  }
  out.bubble = (out.computing() - out.optimizer + out.exchange) *
               bubble_of_ideal(stage.layout.pipeline, stage.batch.micro_batches);
  return out;
}

}  // namespace cb::training
