#include "bench/training/parameters.h"

#include <cmath>
#include <utility>
#include <vector>

namespace cb::training {
namespace {

constexpr double kDeviation = 0.02;
constexpr int64_t kAlign = 16;  // elements: a cache line of fp32

int64_t padded(int64_t count, int64_t to) { return (count + to - 1) / to * to; }

// Each matrix of the decoder has its own stream of random numbers.
uint64_t stream_of(uint64_t seed, int64_t layer, int kind) {
  return seed * 0x10000 + static_cast<uint64_t>(layer + 1) * 8 + static_cast<uint64_t>(kind);
}

}  // namespace

template <typename Real>
Parameters<Real>::Parameters(Backend<Real>& backend, const Stage& stage, uint64_t seed)
    : backend_(backend), stage_(stage) {
  lay_out();
  weights_ = backend_.allocate(count_);
  if (!stage_.forward_only) {
    gradients_ = backend_.allocate(count_);
    const int64_t state = state_count();
    mean_ = backend_.allocate(state);
    square_ = backend_.allocate(state);
    if (stage_.layout.zero1) shard_ = backend_.allocate(state);
  }
  initialise(seed);
}

template <typename Real>
void Parameters<Real>::add_block(int64_t layer, std::vector<Tensor> gains,
                                 std::vector<Tensor> matrices) {
  Block block{.layer = layer, .offset = count_};
  for (const Tensor& gain : gains) block.gains += gain.count;
  int64_t at = count_;
  for (auto* part : {&gains, &matrices}) {
    for (Tensor& tensor : *part) {
      tensor.offset = at;
      at += tensor.count;
      block.tensors.push_back(std::move(tensor));
    }
  }
  const int64_t parts = stage_.layout.zero1 ? stage_.layout.data : 1;
  block.count = padded(at - count_, kAlign * parts);
  count_ += block.count;
  blocks_.push_back(std::move(block));
}

template <typename Real>
void Parameters<Real>::lay_out() {
  const Shape& s = stage_.shape;
  const int64_t h = s.hidden, table = stage_.vocabulary().count * h;
  if (stage_.first()) add_block(-1, {}, {{"embedding", 0, table}});
  for (int64_t i = 0; i < stage_.layers(); ++i) {
    add_block(stage_.first_layer() + i, {{"attention_gain", 0, h}, {"feed_forward_gain", 0, h}},
              {{"qkv", 0, stage_.attention().stride() * h},
               {"out", 0, h * stage_.heads() * s.head_dim},
               {"gate_up", 0, 2 * stage_.feed_forward() * h},
               {"down", 0, h * stage_.feed_forward()}});
  }
  if (stage_.last()) add_block(s.layers, {{"head_gain", 0, h}}, {{"head", 0, table}});
}

template <typename Real>
LayerWeights<Real> Parameters<Real>::layer_of(Real* base, int64_t local) const {
  const Block& block = blocks_[static_cast<size_t>(local + (stage_.first() ? 1 : 0))];
  const auto at = [&](size_t i) { return base + block.tensors[i].offset; };
  return {at(0), at(1), at(2), at(3), at(4), at(5)};
}

template <typename Real>
typename Parameters<Real>::Share Parameters<Real>::share(const Block& block) const {
  if (!stage_.layout.zero1) return {block.offset, block.offset + block.count, block.offset};
  const int64_t each = block.count / stage_.layout.data;
  const int64_t begin = block.offset + stage_.at.data * each;
  return {begin, begin + each, block.offset / stage_.layout.data};
}

template <typename Real>
void Parameters<Real>::initialise_layer(uint64_t seed, int64_t local) {
  const Shape& s = stage_.shape;
  const LayerWeights<Real> w = layer(local);
  const int64_t h = s.hidden, d = s.head_dim, t = stage_.at.tensor;
  const int64_t q = stage_.heads() * d, kv = stage_.kv_heads() * d, f = stage_.feed_forward();
  const int64_t index = stage_.first_layer() + local;
  const double into_stream = kDeviation / std::sqrt(2.0 * static_cast<double>(s.layers));
  for (Real* gain : {w.attention_gain, w.feed_forward_gain}) {
    std::vector<Real> ones(static_cast<size_t>(h), Real(1));
    backend_.put(gain, ones.data(), h);
  }
  const auto rows = [&](Real* to, int64_t count, int64_t first, int kind) {
    backend_.normal(to, {count, h, first, 0, h}, stream_of(seed, index, kind), kDeviation);
  };
  rows(w.qkv, q, t * q, 0);
  rows(w.qkv + q * h, kv, t * kv, 1);
  rows(w.qkv + (q + kv) * h, kv, t * kv, 2);
  rows(w.gate_up, f, t * f, 3);
  rows(w.gate_up + f * h, f, t * f, 4);
  backend_.normal(w.out, {h, q, 0, t * q, s.heads * d}, stream_of(seed, index, 5), into_stream);
  backend_.normal(w.down, {h, f, 0, t * f, s.feed_forward}, stream_of(seed, index, 6), into_stream);
}

template <typename Real>
void Parameters<Real>::initialise(uint64_t seed) {
  const Shape& s = stage_.shape;
  const VocabularyPart part = stage_.vocabulary();
  const typename Backend<Real>::Place table{part.count, s.hidden, part.first, 0, s.hidden};
  if (stage_.first())
    backend_.normal(embedding(weights()), table, stream_of(seed, -1, 0), kDeviation);
  for (int64_t i = 0; i < stage_.layers(); ++i) initialise_layer(seed, i);
  if (!stage_.last()) return;
  std::vector<Real> ones(static_cast<size_t>(s.hidden), Real(1));
  backend_.put(head_gain(weights()), ones.data(), s.hidden);
  backend_.normal(head(weights()), table, stream_of(seed, s.layers, 0), kDeviation);
}

template class Parameters<float>;
template class Parameters<double>;

}  // namespace cb::training
