#include "bench/training/decoder.h"

#include <algorithm>
#include <utility>

#include "core/clock.h"

namespace cb::training {

using Part = PlaceInStep::Part;

namespace {

int64_t widest(const Stage& stage) {
  return std::max(stage.feed_forward(), stage.heads() * stage.shape.head_dim);
}

// y (rows × out) = x (rows × in)·wᵀ, dx = dy·w, and dw += dyᵀ·x.
template <typename Real>
Product<Real> forward_of(const Real* x, const Real* w, Real* y, int64_t rows, int64_t out,
                         int64_t in) {
  return {{rows, out, in}, x, in, false, w, in, true, y, out};
}
template <typename Real>
Product<Real> input_gradient_of(const Real* dy, const Real* w, Real* dx, int64_t rows, int64_t out,
                                int64_t in) {
  return {{rows, in, out}, dy, out, false, w, in, false, dx, in};
}
template <typename Real>
Product<Real> weight_gradient_of(const Real* dy, const Real* x, Real* dw, int64_t rows, int64_t out,
                                 int64_t in) {
  return {{out, in, rows}, dy, out, true, x, in, false, dw, in, 1, 1};
}

}  // namespace

// All logits at once may be gigabytes. Chunks of them are of nearly the same size.
int64_t rows_of_head(const Stage& stage) {
  const int64_t most = std::max<int64_t>(stage.most_logits / stage.vocabulary().count, 64);
  const int64_t chunks = std::max<int64_t>(1, (stage.tokens() + most - 1) / most);
  return std::max<int64_t>(64, (stage.tokens() + chunks - 1) / chunks);
}

int64_t scratch_elements(const Stage& stage) {
  const int64_t n = stage.tokens(), h = stage.shape.hidden, rows = rows_of_head(stage);
  // A whole and an own stream, the last layer's output, and the gradient.
  const int64_t stream = (n + 3 * stage.own_tokens()) * h;
  const int64_t wide = n * (widest(stage) + stage.attention().stride());
  const int64_t head = stage.last() ? rows * (stage.vocabulary().count + 3) + 2 * n * h : 0;
  return stream + wide + head;
}

template <typename Real>
Decoder<Real>::Decoder(Backend<Real>& backend, Fabric<Real>& fabric, const Stage& stage,
                       Parameters<Real>& parameters, Watch<Real>& watch, Hooks hooks)
    : ops_(backend),
      fabric_(fabric),
      stage_(stage),
      parameters_(parameters),
      watch_(watch),
      hooks_(std::move(hooks)),
      divided_(stage.layout.tensor > 1 && !stage.forward_only) {
  const int64_t n = stage_.tokens(), h = stage_.shape.hidden;
  whole_ = ops_.allocate(n * h);
  if (stage_.forward_only) {
    if (stage_.last()) allocate_head(stage_.batch.sequences);
    return;
  }
  own_ = ops_.allocate(stage_.own_tokens() * h);
  dwide_ = ops_.allocate(n * widest(stage_));
  dqkv_ = ops_.allocate(n * stage_.attention().stride());
  if (!stage_.last()) return;
  allocate_head(rows_of_head(stage_));
  dhead_ = ops_.allocate(n * h);
}

template <typename Real>
void Decoder<Real>::allocate_head(int64_t rows) {
  head_rows_ = rows;
  logits_ = ops_.allocate(head_rows_ * stage_.vocabulary().count);
  rows_ = ops_.allocate(3 * head_rows_);
  head_normed_ =
      ops_.allocate((stage_.forward_only ? rows : stage_.tokens()) * stage_.shape.hidden);
}

template <typename Real>
LayerTape<Real> Decoder<Real>::make_layer_tape() {
  const int64_t n = stage_.tokens(), own = stage_.own_tokens(), h = stage_.shape.hidden;
  const AttentionShape attention = stage_.attention();
  const auto make = [&](int64_t count) { return ops_.allocate(count); };
  return {make(n * h),
          make(own),
          make(n * attention.stride()),
          make(n * attention.heads * attention.dim),
          make(n * attention.heads),
          make(stage_.forward_only ? 0 : own * h),
          make(n * h),
          make(own),
          make(2 * n * stage_.feed_forward()),
          make(n * stage_.feed_forward())};
}

template <typename Real>
Tape<Real> Decoder<Real>::make_tape() {
  Tape<Real> out;
  const int64_t stream = stage_.own_tokens() * stage_.shape.hidden;
  for (int64_t i = 0; i <= stage_.layers(); ++i) {
    const bool again = stage_.forward_only && i > 0;  // each layer adds to the one that there is
    out.streams.push_back(again ? out.streams.front() : ops_.allocate(stream));
  }
  const bool one = stage_.recompute || stage_.forward_only;
  const int64_t kept = one ? std::min<int64_t>(1, stage_.layers()) : stage_.layers();
  for (int64_t i = 0; i < kept; ++i) out.layers.push_back(make_layer_tape());
  if (!stage_.forward_only) out.dstream = ops_.allocate(stream);
  return out;
}

template <typename Real>
PlaceInStep Decoder<Real>::place(Part part, int64_t local, int64_t micro_batch) const {
  return {part, stage_.first_layer() + local, micro_batch};
}

template <typename Real>
template <typename F>
void Decoder<Real>::exchange(F call) {
  const double start = monotonic_seconds();
  call();
  waiting_seconds_ += monotonic_seconds() - start;
}

template <typename Real>
const Real* Decoder<Real>::gathered(const Real* own, Real* whole) {
  if (!divided_) return own;
  exchange(
      [&] { fabric_.tensor->all_gather(own, whole, stage_.own_tokens() * stage_.shape.hidden); });
  return whole;
}

template <typename Real>
const Real* Decoder<Real>::reduced(Real* whole, Real* own) {
  if (!divided_) {
    if (stage_.layout.tensor > 1)
      exchange([&] { fabric_.tensor->all_reduce(whole, stage_.tokens() * stage_.shape.hidden); });
    return whole;
  }
  exchange([&] {
    fabric_.tensor->reduce_scatter(whole, own, stage_.own_tokens() * stage_.shape.hidden);
  });
  return own;
}

template <typename Real>
void Decoder<Real>::linear(const Real* x, const Real* w, Real* y, int64_t rows, int64_t out,
                           int64_t in) {
  ops_.matmul(forward_of(x, w, y, rows, out, in));
  if (hooks_.poll) hooks_.poll();
}

template <typename Real>
void Decoder<Real>::linear_backward(const Real* dy, const Real* w, Real* dx, int64_t rows,
                                    int64_t out, int64_t in) {
  ops_.matmul(input_gradient_of(dy, w, dx, rows, out, in));
  if (hooks_.poll) hooks_.poll();
}

template <typename Real>
void Decoder<Real>::linear_gradient(const Real* dy, const Real* x, Real* dw, int64_t rows,
                                    int64_t out, int64_t in) {
  ops_.matmul(weight_gradient_of(dy, x, dw, rows, out, in));
  if (hooks_.poll) hooks_.poll();
}

template <typename Real>
void Decoder<Real>::head_product(const Product<Real>& product) {
  ops_.head_matmul(product);
  if (hooks_.poll) hooks_.poll();
}

template <typename Real>
void Decoder<Real>::forward(Tape<Real>& tape, KvCache<Real>* cache) {
  const Shape& s = stage_.shape;
  if (stage_.first()) {
    Real* to = divided_ ? whole_.get() : tape.streams[0].get();
    const Real* table = parameters_.embedding(parameters_.weights());
    const VocabularyPart part = stage_.vocabulary();
    if (tape.chosen != nullptr)
      ops_.embed_chosen(table, tape.chosen, to, stage_.tokens(), s.hidden, part);
    else
      ops_.embed(table, tape.tokens.data(), to, stage_.tokens(), s.hidden, part);
    reduced(to, tape.streams[0].get());
  }
  for (int64_t i = 0; i < stage_.layers(); ++i) {
    const auto at = static_cast<size_t>(i);
    forward_layer(i, tape.streams[at].get(), tape.streams[at + 1].get(),
                  tape.layers[tape.layers.size() == 1 ? 0 : at], tape.micro_batch, cache);
  }
  if (cache != nullptr) cache->length += stage_.batch.sequence;
}

template <typename Real>
void Decoder<Real>::attend(int64_t local, LayerTape<Real>& t, const KvCache<Real>* cache) {
  if (cache == nullptr) {
    const AttentionShape a = stage_.attention();
    ops_.rotate(t.qkv.get(), a, 1);
    return ops_.attention(t.qkv.get(), t.attended.get(), t.log_sums.get(), a);
  }
  const AttentionShape a = cache->attention(stage_.attention());
  Real* kept = cache->layers[static_cast<size_t>(local)].get();
  ops_.rotate(t.qkv.get(), a, 1);
  ops_.append(t.qkv.get(), kept, a);
  ops_.attention_cached(t.qkv.get(), kept, t.attended.get(), a);
}

template <typename Real>
bool Decoder<Real>::token_layer(int64_t local, Real* stream, LayerTape<Real>& t,
                                int64_t micro_batch, const KvCache<Real>& cache) {
  if (!stage_.forward_only || stage_.batch.sequence != 1 || stage_.layout.tensor > 1) return false;
  Real* const attention = watch_.only_mark(place(Part::forward_attention, local, micro_batch));
  Real* const feed_forward =
      watch_.only_mark(place(Part::forward_feed_forward, local, micro_batch));
  if (attention == nullptr) return false;
  return ops_.token_layer(
      {parameters_.layer(local), cache.attention(stage_.attention()), stage_.shape.hidden,
       stage_.feed_forward(), stream, cache.layers[static_cast<size_t>(local)].get(),
       t.normed1.get(), t.qkv.get(), t.attended.get(), t.activated.get(), attention, feed_forward});
}

template <typename Real>
void Decoder<Real>::forward_layer(int64_t local, const Real* in, Real* out, LayerTape<Real>& t,
                                  int64_t micro_batch, const KvCache<Real>* cache) {
  if (cache != nullptr && token_layer(local, out, t, micro_batch, *cache)) return;
  const LayerWeights<Real> w = parameters_.layer(local);
  const AttentionShape a = stage_.attention();
  const int64_t n = stage_.tokens(), own = stage_.own_tokens(), h = stage_.shape.hidden;
  const int64_t f = stage_.feed_forward(), wide = a.heads * a.dim;
  const auto normed = [&](const Real* x, const Real* gain, Real* whole, Real* scale) {
    Real* to = divided_ ? own_.get() : whole;
    ops_.rmsnorm(x, gain, to, scale, own, h);
    gathered(to, whole);
  };
  const auto onto_stream = [&](const Real* x, Real* to, Part part) {
    watch_.at(place(part, local, micro_batch), whole_.get(), n * h);
    if (to != x) ops_.copy(to, x, own * h);
    ops_.add(to, reduced(whole_.get(), own_.get()), own * h);
  };
  normed(in, w.attention_gain, t.normed1.get(), t.scale1.get());
  linear(t.normed1.get(), w.qkv, t.qkv.get(), n, a.stride(), h);
  attend(local, t, cache);
  linear(t.attended.get(), w.out, whole_.get(), n, h, wide);
  Real* middle = stage_.forward_only ? out : t.middle.get();
  onto_stream(in, middle, Part::forward_attention);

  normed(middle, w.feed_forward_gain, t.normed2.get(), t.scale2.get());
  linear(t.normed2.get(), w.gate_up, t.gate_up.get(), n, 2 * f, h);
  ops_.swiglu(t.gate_up.get(), t.activated.get(), n, f);
  linear(t.activated.get(), w.down, whole_.get(), n, h, f);
  onto_stream(middle, out, Part::forward_feed_forward);
}

// The head's forward and backward are one pass over chunks of rows, because all logits at once are
// the largest array of a step.
template <typename Real>
void Decoder<Real>::head_chunk(int64_t first, int64_t rows, const Tape<Real>& tape, double factor,
                               double& loss) {
  const int64_t h = stage_.shape.hidden;
  const VocabularyPart part = stage_.vocabulary();
  Real *const top = rows_.get(), *const sums = top + head_rows_, *const target = sums + head_rows_;
  const Real* x = head_normed_.get() + first * h;
  const int32_t* targets = tape.targets.data() + first;
  const Real* w = parameters_.head(parameters_.weights());
  head_product(forward_of(x, w, logits_.get(), rows, part.count, h));
  ops_.row_max(logits_.get(), top, rows, part.count);
  exchange([&] { fabric_.tensor->all_reduce_max(top, rows); });
  ops_.exponentials(logits_.get(), top, targets, sums, target, rows, part);
  exchange([&] { fabric_.tensor->all_reduce(sums, rows); });
  exchange([&] { fabric_.tensor->all_reduce(target, rows); });
  loss += ops_.cross_entropy(sums, target, rows);
  const double start = monotonic_seconds();
  ops_.cross_entropy_backward(logits_.get(), sums, targets, static_cast<Real>(factor), rows, part);
  const Real* dlogits = logits_.get();
  head_product(input_gradient_of(dlogits, w, dhead_.get() + first * h, rows, part.count, h));
  head_product(weight_gradient_of(dlogits, x, parameters_.head(parameters_.gradients()), rows,
                                  part.count, h));
  ops_.finish();
  head_backward_seconds_ += monotonic_seconds() - start;
}

template <typename Real>
double Decoder<Real>::head(Tape<Real>& tape, double factor) {
  const int64_t n = stage_.tokens(), own = stage_.own_tokens(), h = stage_.shape.hidden;
  const Real* stream = tape.streams.back().get();
  const Real* gain = parameters_.head_gain(parameters_.weights());
  Real* scale = dwide_.get();  // free here, and long enough: a row has at least one element
  Real* to = divided_ ? own_.get() : head_normed_.get();
  ops_.rmsnorm(stream, gain, to, scale, own, h);
  gathered(to, head_normed_.get());
  double loss = 0;
  for (int64_t first = 0; first < n; first += head_rows_)
    head_chunk(first, std::min(head_rows_, n - first), tape, factor, loss);
  watch_.at({Part::head, stage_.shape.layers, tape.micro_batch}, dhead_.get(), n * h);
  const double start = monotonic_seconds();
  const double waited = waiting_seconds();
  const Real* dnormed = reduced(dhead_.get(), own_.get());
  ops_.zero(tape.dstream.get(), own * h);
  ops_.rmsnorm_backward(dnormed, stream, gain, scale, tape.dstream.get(),
                        parameters_.head_gain(parameters_.gradients()), own, h);
  ops_.finish();
  head_backward_seconds_ += monotonic_seconds() - start - (waiting_seconds() - waited);
  return loss;
}

template <typename Real>
const Real* Decoder<Real>::logits(const Tape<Real>& tape, int64_t place) {
  const int64_t h = stage_.shape.hidden, rows = stage_.batch.sequences;
  const int64_t part = stage_.vocabulary().count;
  const Real* gain = parameters_.head_gain(parameters_.weights());
  const Real* stream = tape.streams.back().get() + place * h;
  if (stage_.batch.sequence == 1)
    ops_.rmsnorm(stream, gain, head_normed_.get(), rows_.get(), rows, h);
  else
    for (int64_t i = 0; i < rows; ++i)
      ops_.rmsnorm(stream + i * stage_.batch.sequence * h, gain, head_normed_.get() + i * h,
                   rows_.get() + i, 1, h);
  const Real *x = head_normed_.get(), *w = parameters_.head(parameters_.weights());
  head_product(forward_of(x, w, logits_.get(), rows, part, h));
  watch_.at({Part::head, stage_.shape.layers, tape.micro_batch}, logits_.get(), rows * part);
  return logits_.get();
}

template <typename Real>
void Decoder<Real>::backward_layer(int64_t local, const Real* in, Real* dstream, LayerTape<Real>& t,
                                   int64_t micro_batch) {
  const LayerWeights<Real> w = parameters_.layer(local), dw = parameters_.layer_gradients(local);
  const AttentionShape a = stage_.attention();
  const int64_t n = stage_.tokens(), own = stage_.own_tokens(), h = stage_.shape.hidden;
  const int64_t f = stage_.feed_forward(), wide = a.heads * a.dim;
  const auto through_norm = [&](Part part, const Real* x, const Real* gain, const Real* scale,
                                Real* dgain) {
    watch_.at(place(part, local, micro_batch), whole_.get(), n * h);
    ops_.rmsnorm_backward(reduced(whole_.get(), own_.get()), x, gain, scale, dstream, dgain, own,
                          h);
  };
  const Real* dout = gathered(dstream, whole_.get());
  linear_backward(dout, w.down, dwide_.get(), n, h, f);
  linear_gradient(dout, t.activated.get(), dw.down, n, h, f);
  ops_.swiglu_backward(dwide_.get(), t.gate_up.get(), n, f);
  linear_gradient(t.gate_up.get(), t.normed2.get(), dw.gate_up, n, 2 * f, h);
  linear_backward(t.gate_up.get(), w.gate_up, whole_.get(), n, 2 * f, h);
  through_norm(Part::backward_feed_forward, t.middle.get(), w.feed_forward_gain, t.scale2.get(),
               dw.feed_forward_gain);

  dout = gathered(dstream, whole_.get());
  linear_backward(dout, w.out, dwide_.get(), n, h, wide);
  linear_gradient(dout, t.attended.get(), dw.out, n, h, wide);
  ops_.attention_backward(t.qkv.get(), t.attended.get(), dwide_.get(), t.log_sums.get(),
                          dqkv_.get(), a);
  ops_.rotate(dqkv_.get(), a, -1);
  linear_gradient(dqkv_.get(), t.normed1.get(), dw.qkv, n, a.stride(), h);
  linear_backward(dqkv_.get(), w.qkv, whole_.get(), n, a.stride(), h);
  through_norm(Part::backward_attention, in, w.attention_gain, t.scale1.get(), dw.attention_gain);
}

template <typename Real>
void Decoder<Real>::backward(Tape<Real>& tape, bool last) {
  const Shape& s = stage_.shape;
  size_t block = parameters_.blocks().size();
  const auto done = [&] {
    if (last && hooks_.block_done) hooks_.block_done(block);
  };
  if (stage_.last()) {
    --block;
    done();
  }
  for (int64_t i = stage_.layers(); i-- > 0;) {
    const auto at = static_cast<size_t>(i);
    LayerTape<Real>& kept = tape.layers[stage_.recompute ? 0 : at];
    // The forward again, into a stream that nobody needs any more.
    if (stage_.recompute)
      forward_layer(i, tape.streams[at].get(), tape.streams[at + 1].get(), kept, tape.micro_batch,
                    nullptr);
    backward_layer(i, tape.streams[at].get(), tape.dstream.get(), kept, tape.micro_batch);
    --block;
    done();
  }
  if (!stage_.first()) return;
  const Real* dout = gathered(tape.dstream.get(), whole_.get());
  ops_.embed_backward(dout, tape.tokens.data(), parameters_.embedding(parameters_.gradients()),
                      stage_.tokens(), s.hidden, stage_.vocabulary());
  --block;
  done();
}

template class Decoder<float>;
template class Decoder<double>;

}  // namespace cb::training
