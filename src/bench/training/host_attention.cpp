#include "bench/training/host_attention.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

namespace cb::training {
namespace {

constexpr int64_t kBlock = 128;  // rows of scores at a time

// One head of one sequence within the operands.
template <typename Real>
struct Head {
  Head(const AttentionShape& s, int64_t task)
      : batch(task / s.heads), head(task % s.heads), kv(head / (s.heads / s.kv_heads)) {}
  int64_t batch, head, kv;

  int64_t row0(const AttentionShape& s) const { return batch * s.sequence; }
  int64_t q(const AttentionShape& s) const { return row0(s) * s.stride() + head * s.dim; }
  int64_t k(const AttentionShape& s) const { return row0(s) * s.stride() + (s.heads + kv) * s.dim; }
  int64_t v(const AttentionShape& s) const { return k(s) + s.kv_heads * s.dim; }
  int64_t out(const AttentionShape& s) const { return row0(s) * s.heads * s.dim + head * s.dim; }
  int64_t sums(const AttentionShape& s) const { return (batch * s.heads + head) * s.sequence; }
};

// The keys and values that one head of one sequence sees, from its first position on.
template <typename Real>
struct Seen {
  Seen(const Real* qkv, const Head<Real>& head, const AttentionShape& s)
      : k(qkv + head.k(s)), v(qkv + head.v(s)), stride(s.stride()) {}
  struct InCache {};
  Seen(const Real* cache, const Head<Real>& head, const AttentionShape& s, InCache)
      : k(cache + head.batch * s.capacity * s.kept() + head.kv * s.dim),
        v(k + s.kv_heads * s.dim),
        stride(s.kept()) {}
  const Real *k, *v;
  int64_t stride;
};

template <typename Real>
Real score_scale(const AttentionShape& s) {
  return static_cast<Real>(1 / std::sqrt(static_cast<double>(s.dim)));
}

// Of the queries from `first` on; positions that are past stand before the first of them.
ScoreBlock block_at(const AttentionShape& s, int64_t first) {
  const int64_t rows = std::min(kBlock, s.sequence - first);
  return {s.past + first, rows, s.past + first + rows};
}

// op(A)·op(B) without stating what is plain.
template <typename Real>
struct Operand {
  const Real* data;
  int64_t stride;
  bool transpose = false;
};

template <typename Real>
void multiply(const ThreadProduct<Real>& product, const host_blas::Shape& shape,
              const Operand<Real>& a, const Operand<Real>& b, Real* c, int64_t ldc, Real alpha,
              Real beta) {
  product(
      {shape, a.data, a.stride, a.transpose, b.data, b.stride, b.transpose, c, ldc, alpha, beta});
}

// `q`: the block's first row.
template <typename Real>
void scores_of(const HostAttention<Real>& t, const Real* q, const Seen<Real>& seen,
               const AttentionShape& s, const ScoreBlock& block, Real* scores) {
  multiply<Real>(t.product, {block.rows, block.columns, s.dim}, {q, s.stride()},
                 {seen.k, seen.stride, true}, scores, block.columns, score_scale<Real>(s), 0);
}

template <typename Real>
void forward_head(const HostAttention<Real>& t, const Real* qkv, const Seen<Real>& seen, Real* out,
                  Real* log_sums, const AttentionShape& s, const Head<Real>& head, Real* scores) {
  for (int64_t first = 0; first < s.sequence; first += kBlock) {
    const ScoreBlock block = block_at(s, first);
    scores_of(t, qkv + head.q(s) + first * s.stride(), seen, s, block, scores);
    t.rows.softmax(scores, log_sums + first, block);
    multiply<Real>(t.product, {block.rows, s.dim, block.columns}, {scores, block.columns},
                   {seen.v, seen.stride}, out + head.out(s) + first * s.heads * s.dim,
                   s.heads * s.dim, 1, 0);
  }
}

// One token of a sequence: the heads that share keys and values are the rows of one product, so
// that the cache is read once for all of them. `first`: the first of these heads.
template <typename Real>
void forward_token(const HostAttention<Real>& t, const Real* qkv, const Seen<Real>& seen, Real* out,
                   const AttentionShape& s, const Head<Real>& first, Real* scores) {
  const int64_t share = s.heads / s.kv_heads, columns = s.past + 1;
  t.rows.few_rows({{share, columns, s.dim},
                   qkv + first.q(s),
                   s.dim,
                   false,
                   seen.k,
                   seen.stride,
                   true,
                   scores,
                   columns,
                   score_scale<Real>(s),
                   0});
  Real log_sum = 0;  // of no use: nothing goes backward
  for (int64_t i = 0; i < share; ++i)
    t.rows.softmax(scores + i * columns, &log_sum, {s.past, 1, columns});
  multiply<Real>(t.product, {share, s.dim, columns}, {scores, columns}, {seen.v, seen.stride},
                 out + first.out(s), s.dim, 1, 0);
}

// What one head of the backward reads and writes. Gradients of k and v: its own, because heads
// share them.
template <typename Real>
struct BackwardHead {
  const Real *qkv, *out, *dout, *log_sums;
  Real *dqkv, *dk, *dv;  // dk, dv: sequence × dim
  Real *p, *dp, *dots;   // scratch of one block
};

template <typename Real>
void backward_block(const HostAttention<Real>& t, const BackwardHead<Real>& x,
                    const AttentionShape& s, const Head<Real>& head, const ScoreBlock& block) {
  const int64_t wide = s.heads * s.dim;
  const Real* q = x.qkv + head.q(s) + block.first * s.stride();
  const Real* dout = x.dout + head.out(s) + block.first * wide;
  scores_of(t, q, Seen<Real>(x.qkv, head, s), s, block, x.p);
  t.rows.probabilities(x.p, x.log_sums + head.sums(s) + block.first, block);
  t.rows.row_dots(dout, x.out + head.out(s) + block.first * wide, x.dots, block.rows, s.dim, wide);
  multiply<Real>(t.product, {block.rows, block.columns, s.dim}, {dout, wide},
                 {x.qkv + head.v(s), s.stride(), true}, x.dp, block.columns, 1, 0);
  multiply<Real>(t.product, {block.columns, s.dim, block.rows}, {x.p, block.columns, true},
                 {dout, wide}, x.dv, s.dim, 1, 1);
  t.rows.softmax_backward(x.dp, x.p, x.dots, score_scale<Real>(s), block);
  multiply<Real>(t.product, {block.rows, s.dim, block.columns}, {x.dp, block.columns},
                 {x.qkv + head.k(s), s.stride()}, x.dqkv + head.q(s) + block.first * s.stride(),
                 s.stride(), 1, 0);
  multiply<Real>(t.product, {block.columns, s.dim, block.rows}, {x.dp, block.columns, true},
                 {q, s.stride()}, x.dk, s.dim, 1, 1);
}

// Sums the gradients of k and v over the heads that share them, in the order of the heads.
template <typename Real>
void join_shared(const RowKernels<Real>& rows, const Real* dk, const Real* dv, Real* dqkv,
                 const AttentionShape& s, int64_t token) {
  const int64_t share = s.heads / s.kv_heads, batch = token / s.sequence;
  const int64_t position = token % s.sequence, row = token * s.stride();
  for (int64_t kv = 0; kv < s.kv_heads; ++kv) {
    Real* to_k = dqkv + row + (s.heads + kv) * s.dim;
    Real* to_v = to_k + s.kv_heads * s.dim;
    for (int64_t i = 0; i < share; ++i) {
      const int64_t head = batch * s.heads + kv * share + i;
      const int64_t from = (head * s.sequence + position) * s.dim;
      if (i == 0) {
        std::copy_n(dk + from, s.dim, to_k);
        std::copy_n(dv + from, s.dim, to_v);
      } else {
        rows.add(to_k, dk + from, s.dim);
        rows.add(to_v, dv + from, s.dim);
      }
    }
  }
}

// work(thread): all threads, or the caller alone where waking them takes longer than the work. The
// caller then does everybody's part.
template <typename Work>
void run_on(Team& team, const AttentionShape& s, Work work) {
  constexpr int64_t kAlone = 1 << 20;  // multiplications of the scores
  if (s.batch * s.heads * s.sequence * (s.past + s.sequence) * s.dim >= kAlone)
    return team.run(work);
  for (int index = 0; index < team.size(); ++index) work(index);
}

template <typename Real>
std::unique_ptr<Real[]> scratch(int64_t count) {
  return std::make_unique_for_overwrite<Real[]>(static_cast<size_t>(count));
}

}  // namespace

template <typename Real>
void HostAttention<Real>::forward(const Real* qkv, Real* out, Real* log_sums,
                                  const AttentionShape& s) const {
  run_on(team, s, [&](int index) {
    const auto scores = scratch<Real>(kBlock * s.sequence);
    const Range mine = share_of_items(static_cast<size_t>(s.batch * s.heads), team.size(), index);
    for (size_t task = mine.begin; task < mine.end; ++task) {
      const Head<Real> head(s, static_cast<int64_t>(task));
      forward_head<Real>(*this, qkv, Seen<Real>(qkv, head, s), out, log_sums + head.sums(s), s,
                         head, scores.get());
    }
  });
}

template <typename Real>
void HostAttention<Real>::forward_cached(const Real* qkv, const Real* cache, Real* out,
                                         const AttentionShape& s) const {
  const bool token = s.sequence == 1;
  const int64_t share = token ? s.heads / s.kv_heads : 1;  // heads of a task
  run_on(team, s, [&](int index) {
    const auto scores = scratch<Real>((token ? share : kBlock) * (s.past + s.sequence));
    const auto log_sums = scratch<Real>(s.sequence);
    const auto tasks = static_cast<size_t>(s.batch * s.heads / share);
    const Range mine = share_of_items(tasks, team.size(), index);
    for (size_t task = mine.begin; task < mine.end; ++task) {
      const Head<Real> head(s, static_cast<int64_t>(task) * share);
      const Seen<Real> seen(cache, head, s, typename Seen<Real>::InCache());
      if (token)
        forward_token<Real>(*this, qkv, seen, out, s, head, scores.get());
      else
        forward_head<Real>(*this, qkv, seen, out, log_sums.get(), s, head, scores.get());
    }
  });
}

template <typename Real>
void HostAttention<Real>::backward(const Real* qkv, const Real* out, const Real* dout,
                                   const Real* log_sums, Real* dqkv,
                                   const AttentionShape& s) const {
  const int64_t each = s.sequence * s.dim;
  const auto dk = scratch<Real>(s.batch * s.heads * each),
             dv = scratch<Real>(s.batch * s.heads * each);
  run_on(team, s, [&](int index) {
    const auto p = scratch<Real>(kBlock * s.sequence), dp = scratch<Real>(kBlock * s.sequence);
    const auto dots = scratch<Real>(kBlock);
    const Range mine = share_of_items(static_cast<size_t>(s.batch * s.heads), team.size(), index);
    for (size_t i = mine.begin; i < mine.end; ++i) {
      const auto task = static_cast<int64_t>(i);
      const Head<Real> head(s, task);
      const BackwardHead<Real> x{qkv,
                                 out,
                                 dout,
                                 log_sums,
                                 dqkv,
                                 dk.get() + task * each,
                                 dv.get() + task * each,
                                 p.get(),
                                 dp.get(),
                                 dots.get()};
      std::fill_n(x.dk, each, Real(0));
      std::fill_n(x.dv, each, Real(0));
      for (int64_t first = 0; first < s.sequence; first += kBlock)
        backward_block<Real>(*this, x, s, head, block_at(s, first));
    }
  });
  run_on(team, s, [&](int index) {
    const Range mine = share_of_items(static_cast<size_t>(s.tokens()), team.size(), index);
    for (size_t token = mine.begin; token < mine.end; ++token)
      join_shared<Real>(rows, dk.get(), dv.get(), dqkv, s, static_cast<int64_t>(token));
  });
}

template struct HostAttention<float>;
template struct HostAttention<double>;

}  // namespace cb::training
