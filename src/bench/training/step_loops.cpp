#include "bench/training/step_loops.h"

#include <algorithm>
#include <array>
#include <utility>

#include "bench/training/decoder.h"
#include "bench/training/probe.h"

namespace cb::training {
namespace {

constexpr int64_t kMostOther = int64_t{256} << 20;  // bytes: beyond the caches of a rank
constexpr int64_t kMostLogits = int64_t{1} << 26;   // a loop over more is as fast
constexpr int64_t kTokensInUse = 256;               // of the synthetic text
constexpr int64_t kNormalRow = 16;                  // threads share the rows

// Arrays of one size, read or written by a loop. The backend counts the same.
constexpr int passes_of(Loop loop) {
  switch (loop) {
    case Loop::look:
    case Loop::zero:
    case Loop::row_max:
      return 1;
    case Loop::norm:
    case Loop::rotate:
    case Loop::copy:
    case Loop::embed:
    case Loop::exponentials:
    case Loop::loss_backward:
      return 2;
    case Loop::swiglu:
    case Loop::add:
    case Loop::embed_backward:
      return 3;
    case Loop::norm_backward:
      return 4;
    case Loop::swiglu_backward:
      return 5;
  }
  return 0;
}

// Elements of a loop's array: 0 is its input, or changed in place; 1 and 2 are the others.
int64_t elements_of(const StepLoop& l, int array, const Stage& stage) {
  const int64_t count = l.rows * l.width;
  switch (l.loop) {
    case Loop::rotate:
      return l.rows * stage.attention().stride();
    case Loop::swiglu:
      return array == 0 ? 2 * count : count;
    case Loop::swiglu_backward:
      return array == 1 ? 2 * count : count;
    case Loop::embed:
    case Loop::embed_backward:
      return array == 1 ? kTokensInUse * l.width : count;
    default:
      return count;
  }
}

// Which arrays a call changes although no operation has just written them, and which the operation
// before it has just written: −1 for none.
struct Written {
  int cold = -1;
  std::array<int, 2> fresh = {0, -1};
};
Written written_before(Loop loop) {
  switch (loop) {
    case Loop::add:
      return {.fresh = {1, 0}};
    case Loop::swiglu_backward:
      return {.cold = 1};
    case Loop::zero:
    case Loop::embed:
      return {.fresh = {-1, -1}};
    default:
      return {};
  }
}

}  // namespace

std::vector<StepLoop> loops_of_step(const Stage& s, int64_t head_rows) {
  std::vector<StepLoop> out;
  const int64_t n = s.tokens(), own = s.own_tokens(), h = s.shape.hidden, f = s.feed_forward();
  const AttentionShape a = s.attention();
  const int64_t turned = (a.heads + a.kv_heads) * a.dim;
  const auto micro_batches = static_cast<double>(s.batch.micro_batches);
  const auto add = [&](Loop loop, int64_t rows, int64_t width, double count) {
    if (count > 0) out.push_back({loop, rows, width, count * micro_batches});
  };
  const auto layers = static_cast<double>(s.layers());
  const double forwards = s.recompute ? 2 * layers : layers;
  const double head = s.last() ? 1 : 0, first = s.first() ? 1 : 0;
  add(Loop::norm, own, h, 2 * forwards + head);
  add(Loop::rotate, n, turned, forwards + layers);
  add(Loop::copy, own, h, 2 * forwards);
  add(Loop::add, own, h, 2 * forwards);
  add(Loop::swiglu, n, f, forwards);
  add(Loop::look, n, h, 2 * forwards + 2 * layers + head);
  add(Loop::norm_backward, own, h, 2 * layers + head);
  add(Loop::swiglu_backward, n, f, layers);
  add(Loop::zero, own, h, head);
  add(Loop::embed, n, h, first);
  add(Loop::embed_backward, n, h, first);
  const int64_t enough = std::max<int64_t>(kMostLogits / s.vocabulary().count, 64);
  const int64_t rows = std::min({head_rows, n, enough});
  const double chunks = head * static_cast<double>(n) / static_cast<double>(rows);
  for (const Loop loop : {Loop::row_max, Loop::exponentials, Loop::loss_backward})
    add(loop, rows, s.vocabulary().count, chunks);
  return out;
}

double bytes_of(const StepLoop& l) {
  return static_cast<double>(l.rows * l.width * passes_of(l.loop)) * sizeof(float) * l.count;
}

int64_t loop_probe_elements(const Stage& stage) {
  int64_t longest = 0, beside = 1;
  for (const StepLoop& l : loops_of_step(stage, rows_of_head(stage))) {
    beside = std::max({beside, l.rows, l.width});
    for (int i = 0; i < 3; ++i) longest = std::max(longest, elements_of(l, i, stage));
  }
  const int64_t held = 4 * stored_parameters(stage.shape) + 4 * longest * stage.shape.layers;
  const int64_t others = kMostOther / static_cast<int64_t>(sizeof(float));
  return std::min(others, held) + 4 * longest + 3 * beside;
}

LoopProbe::LoopProbe(Backend<float>& backend, const Stage& stage, std::vector<StepLoop> loops,
                     int64_t other_bytes)
    : ops_(backend), stage_(stage), loops_(std::move(loops)) {
  int64_t longest = 0, rows = 1, width = 1;
  for (const StepLoop& l : loops_) {
    rows = std::max(rows, l.rows);
    width = std::max(width, l.width);
    for (int i = 0; i < 3; ++i) longest = std::max(longest, elements_of(l, i, stage));
  }
  const int64_t beside = std::max(rows, width);
  other_elements_ = std::min(other_bytes, kMostOther) / static_cast<int64_t>(sizeof(float));
  other_ = ops_.allocate(other_elements_);
  for (auto& one : arrays_) one = ops_.allocate(longest);
  for (auto* one : {&normal_, &small_, &sums_, &target_}) {
    const int64_t count = one == &normal_ ? longest : beside;
    *one = ops_.allocate(count);
    ops_.normal(one->get(), {count / kNormalRow, kNormalRow, 0, 0, kNormalRow}, 5, 1);
  }
  const int64_t in_use = std::min(kTokensInUse, stage.vocabulary().count);
  for (int64_t i = 0; i < rows; ++i)
    tokens_.push_back(static_cast<int32_t>(stage.vocabulary().first + i * 37 % in_use));
}

void LoopProbe::write(const StepLoop& loop, int array) {
  if (array >= 0)
    ops_.copy(arrays_[static_cast<size_t>(array)].get(), normal_.get(),
              elements_of(loop, array, stage_));
}

double LoopProbe::seconds(const StepLoop& loop) {
  const Written written = written_before(loop.loop);
  const auto before = [&] {
    write(loop, written.cold);
    static_cast<void>(ops_.sum_squares(other_.get(), other_elements_));
    for (const int fresh : written.fresh) write(loop, fresh);
  };
  return seconds_of(ops_, before, [&] { call(loop); });
}

double LoopProbe::step_seconds() {
  double sum = 0;
  for (const StepLoop& loop : loops_) sum += seconds(loop) * loop.count;
  return sum;
}

void LoopProbe::call(const StepLoop& l) {
  const VocabularyPart part = stage_.vocabulary(), of_row{part.first, l.width};
  float *const a = arrays_[0].get(), *const b = arrays_[1].get(), *const c = arrays_[2].get();
  float *const small = small_.get(), *const sums = sums_.get();
  const int32_t* tokens = tokens_.data();
  const int64_t count = l.rows * l.width;
  switch (l.loop) {
    case Loop::norm:
      return ops_.rmsnorm(a, small, b, sums, l.rows, l.width);
    case Loop::norm_backward:
      return ops_.rmsnorm_backward(a, b, small, sums, c, small, l.rows, l.width);
    case Loop::rotate:
      return ops_.rotate(a, stage_.attention(), 1);
    case Loop::swiglu:
      return ops_.swiglu(a, b, l.rows, l.width);
    case Loop::swiglu_backward:
      return ops_.swiglu_backward(a, b, l.rows, l.width);
    case Loop::look:
      return static_cast<void>(ops_.not_finite(a, count));
    case Loop::copy:
      return ops_.copy(b, a, count);
    case Loop::add:
      return ops_.add(a, b, count);
    case Loop::zero:
      return ops_.zero(a, count);
    case Loop::embed:
      return ops_.embed(b, tokens, a, l.rows, l.width, part);
    case Loop::embed_backward:
      return ops_.embed_backward(a, tokens, b, l.rows, l.width, part);
    case Loop::row_max:
      return ops_.row_max(a, sums, l.rows, l.width);
    case Loop::exponentials:
      return ops_.exponentials(a, small, tokens, sums, target_.get(), l.rows, of_row);
    case Loop::loss_backward:
      return ops_.cross_entropy_backward(a, sums, tokens, 1, l.rows, of_row);
  }
}

}  // namespace cb::training
