#include "bench/training/trainer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "core/clock.h"

namespace cb::training {
namespace {

// A twin step's tokens are of no other step.
constexpr int64_t kTwinSequence = int64_t{1} << 48;

}  // namespace

template <typename Real>
Trainer<Real>::Trainer(Comm& comm, Fabric<Real>& fabric, Backend<Real>& backend, const Stage& stage,
                       const Text& text, const Recipe& recipe, const Fault& fault)
    : comm_(comm),
      fabric_(fabric),
      ops_(backend),
      stage_(stage),
      text_(text),
      recipe_(recipe),
      fault_(fault),
      watch_(backend, stage.shape.layers, fault),
      parameters_(backend, stage, recipe.seed),
      decoder_(backend, fabric, stage, parameters_, watch_,
               {.poll = [this] { wait_in(times_.exposed_communication, [this] { poll(); }); },
                .block_done = [this](size_t block) { start_reduction(block); }}) {
  for (int64_t i = 0; i < stage_.live(); ++i) tapes_.push_back(decoder_.make_tape());
  for (const Block& block : parameters_.blocks())  // the embedding is in no product
    if (block.layer >= 0) ops_.keep_rounded(parameters_.weights() + block.offset, block.count);
}

template <typename Real>
template <typename F>
void Trainer<Real>::wait_in(double& seconds, F call) {
  const double start = monotonic_seconds(), waited = decoder_.waiting_seconds();
  call();
  // What the device waited for meanwhile is counted where the step ends.
  seconds += monotonic_seconds() - start - (decoder_.waiting_seconds() - waited);
}

// Sequence numbers go through steps, replicas and micro-batches in this order, so that the same
// tokens make one step however the replicas and micro-batches share them.
template <typename Real>
void Trainer<Real>::take_tokens(Tape<Real>& tape, int64_t micro_batch) {
  const Batch& b = stage_.batch;
  const int64_t per_replica = b.sequences * b.micro_batches;
  const int64_t first = exchanging_ ? (steps_ * stage_.layout.data + stage_.at.data) * per_replica +
                                          micro_batch * b.sequences
                                    : kTwinSequence + steps_ * b.sequences;
  tape.micro_batch = micro_batch;
  tape.tokens.resize(static_cast<size_t>(b.micro_tokens()));
  tape.targets.resize(tape.tokens.size());
  std::vector<int32_t> one(static_cast<size_t>(b.sequence + 1));
  for (int64_t i = 0; i < b.sequences; ++i) {
    text_.write(first + i, b.sequence + 1, one.data());
    std::copy_n(one.begin(), b.sequence, tape.tokens.begin() + i * b.sequence);
    std::copy_n(one.begin() + 1, b.sequence, tape.targets.begin() + i * b.sequence);
  }
}

template <typename Real>
void Trainer<Real>::forward_one(int64_t micro_batch) {
  Tape<Real>& tape = tapes_[static_cast<size_t>(micro_batch % stage_.live())];
  take_tokens(tape, micro_batch);
  const int64_t count = stage_.own_tokens() * stage_.shape.hidden;
  if (!stage_.first())
    wait_in(times_.pipeline, [&] { fabric_.pipeline->receive(-1, tape.streams[0].get(), count); });
  const double start = monotonic_seconds(), waited = decoder_.waiting_seconds();
  const double headed = decoder_.head_backward_seconds();
  decoder_.forward(tape);
  if (stage_.last()) loss_sum_ += decoder_.head(tape, factor_);
  ops_.finish();
  const double of_backward = decoder_.head_backward_seconds() - headed;
  times_.backward += of_backward;
  times_.forward +=
      monotonic_seconds() - start - (decoder_.waiting_seconds() - waited) - of_backward;
  if (!stage_.last()) fabric_.pipeline->send(1, tape.streams.back().get(), count);
}

template <typename Real>
void Trainer<Real>::backward_one(int64_t micro_batch, bool last) {
  Tape<Real>& tape = tapes_[static_cast<size_t>(micro_batch % stage_.live())];
  const int64_t count = stage_.own_tokens() * stage_.shape.hidden;
  if (!stage_.last())
    wait_in(times_.pipeline, [&] { fabric_.pipeline->receive(1, tape.dstream.get(), count); });
  const double start = monotonic_seconds(), waited = decoder_.waiting_seconds();
  const double exposed = times_.exposed_communication;
  decoder_.backward(tape, last);
  ops_.finish();
  times_.backward += monotonic_seconds() - start - (decoder_.waiting_seconds() - waited) -
                     (times_.exposed_communication - exposed);
  if (!stage_.first()) fabric_.pipeline->send(-1, tape.dstream.get(), count);
  moved_();
}

// 1F1B (Narayanan et al., arXiv 2104.04473, §2.2): a stage first runs ahead by as many forwards as
// stages follow it, then alternates.
template <typename Real>
void Trainer<Real>::run_micro_batches(int64_t count, double factor) {
  factor_ = factor;
  const int64_t ahead = std::min<int64_t>(stage_.layout.pipeline - 1 - stage_.at.stage, count);
  for (int64_t i = 0; i < ahead; ++i) forward_one(i);
  for (int64_t i = ahead; i < count; ++i) {
    forward_one(i);
    backward_one(i - ahead, i - ahead == count - 1);
  }
  for (int64_t i = count - ahead; i < count; ++i) backward_one(i, i == count - 1);
  wait_in(times_.pipeline, [&] { fabric_.pipeline->flush(); });
}

// Gains are summed over the ranks that share matrices, because each saw only its own tokens; then
// the block over the replicas, while the backward goes on.
template <typename Real>
void Trainer<Real>::start_reduction(size_t index) {
  if (!exchanging_) return;
  const Block& block = parameters_.blocks()[index];
  Real* gradients = parameters_.gradients() + block.offset;
  wait_in(times_.exposed_communication, [&] {
    if (block.gains > 0) fabric_.tensor->all_reduce(gradients, block.gains);
    if (stage_.layout.zero1) {
      const auto share = parameters_.share(block);
      pending_.push_back(fabric_.data->start_reduce_scatter(
          gradients, parameters_.shard() + share.state, share.end - share.begin));
    } else {
      pending_.push_back(fabric_.data->start_all_reduce(gradients, block.count));
    }
  });
}

template <typename Real>
void Trainer<Real>::finish_reductions() {
  wait_in(times_.exposed_communication, [&] {
    for (auto& one : pending_) one->wait();
    pending_.clear();
  });
}

// Of this rank's share, so that every parameter is counted once over all ranks; gains by the first
// of those that share matrices.
template <typename Real>
double Trainer<Real>::gradient_squares() {
  double sum = 0;
  for (const Block& block : parameters_.blocks()) {
    const auto share = parameters_.share(block);
    const Real* base = stage_.layout.zero1 ? parameters_.shard() + share.state
                                           : parameters_.gradients() + share.begin;
    const int64_t skip = stage_.at.tensor == 0
                             ? 0
                             : std::clamp<int64_t>(block.offset + block.gains - share.begin, 0,
                                                   share.end - share.begin);
    sum += ops_.sum_squares(base + skip, share.end - share.begin - skip);
  }
  // Without ZeRO-1 every replica holds all of them.
  return stage_.layout.zero1 ? sum : sum / stage_.layout.data;
}

template <typename Real>
void Trainer<Real>::update_block(const Block& block, const AdamStep& step) {
  const auto share = parameters_.share(block);
  const int64_t gains_end = std::clamp(block.offset + block.gains, share.begin, share.end);
  const auto part = [&](int64_t begin, int64_t end, double decay) {
    if (begin == end) return;
    AdamStep mine = step;
    mine.decay = decay;
    const int64_t state = share.state + begin - share.begin;
    const Real* gradient =
        stage_.layout.zero1 ? parameters_.shard() + state : parameters_.gradients() + begin;
    ops_.adamw(parameters_.weights() + begin, gradient, parameters_.mean() + state,
               parameters_.square() + state, end - begin, mine);
  };
  part(share.begin, gains_end, 0);
  part(gains_end, share.end, recipe_.decay);
}

template <typename Real>
void Trainer<Real>::update(double scale) {
  const auto number = static_cast<double>(steps_ + 1);
  AdamStep step;
  step.rate = recipe_.rate * std::min(1.0, number / static_cast<double>(recipe_.warm_steps));
  step.correction1 = 1 - std::pow(step.beta1, number);
  step.correction2 = 1 - std::pow(step.beta2, number);
  step.scale = scale;
  for (const Block& block : parameters_.blocks()) {
    wait_in(times_.optimizer, [&] {
      update_block(block, step);
      ops_.finish();
    });
    if (!stage_.layout.zero1) continue;
    const auto share = parameters_.share(block);
    wait_in(times_.exposed_communication, [&] {
      fabric_.data->all_gather(parameters_.weights() + share.begin,
                               parameters_.weights() + block.offset, share.end - share.begin);
      ops_.finish();
    });
  }
  ops_.weights_changed();
}

template <typename Real>
StepResult Trainer<Real>::step() {
  const double start = monotonic_seconds(), waited = decoder_.waiting_seconds();
  const int64_t all_tokens = stage_.batch.tokens() * stage_.layout.data;
  times_ = {};
  loss_sum_ = 0;
  exchanging_ = true;
  watch_.begin_step();
  watch_.record(false);
  watch_.allow_faults(true);
  wait_in(times_.clearing, [&] {
    ops_.zero(parameters_.gradients(), parameters_.count());
    ops_.finish();
  });
  times_.optimizer += times_.clearing;
  run_micro_batches(stage_.batch.micro_batches, 1.0 / static_cast<double>(all_tokens));
  finish_reductions();

  StepResult out;
  double squares = 0;
  wait_in(times_.optimizer, [&] { squares = gradient_squares(); });
  wait_in(times_.exposed_communication, [&] {
    // Each of those that share matrices has the whole loss.
    out.loss = comm_.sum(stage_.last() && stage_.at.tensor == 0 ? loss_sum_ : 0) /
               static_cast<double>(all_tokens);
    out.gradient_norm = std::sqrt(comm_.sum(squares));
  });
  out.updated = std::isfinite(out.loss) && std::isfinite(out.gradient_norm);
  if (out.updated) update(std::min(1.0, recipe_.clip / (out.gradient_norm + 1e-6)));
  // Once: a second flip would undo the first, for the replicas' updates are alike. With ZeRO-1 each
  // update gives every replica the same weights, so the fault is planted behind each.
  if (fault_.kind == Fault::Kind::weight && (stage_.layout.zero1 || steps_ == 0))
    ops_.flip_bit(parameters_.weights() + parameters_.count() / 2);
  ++steps_;
  times_.exposed_communication += decoder_.waiting_seconds() - waited;
  times_.total = monotonic_seconds() - start;
  out.times = times_;
  return out;
}

template <typename Real>
std::vector<TracePoint> Trainer<Real>::twin_step(bool faults) {
  ops_.weights_changed();  // what one of two steps prepares wrongly the other must not take over
  exchanging_ = false;
  loss_sum_ = 0;
  watch_.begin_step();
  watch_.record(true);
  watch_.allow_faults(faults);
  ops_.zero(parameters_.gradients(), parameters_.count());
  run_micro_batches(1, 1.0 / static_cast<double>(stage_.batch.micro_tokens()));
  for (const Block& block : parameters_.blocks())
    for (const Tensor& tensor : block.tensors)
      watch_.note({PlaceInStep::Part::gradient, block.layer, 0},
                  parameters_.gradients() + tensor.offset, tensor.count);
  watch_.record(false);
  return watch_.trace();
}

template <typename Real>
uint64_t Trainer<Real>::weights_hash() {
  return ops_.hash(parameters_.weights(), parameters_.count());
}

template <typename Real>
uint64_t Trainer<Real>::replicated_hash() {
  if (stage_.layout.zero1) return weights_hash();
  const int64_t count = parameters_.state_count();
  return weights_hash() ^ std::rotl(ops_.hash(parameters_.mean(), count), 21) ^
         std::rotl(ops_.hash(parameters_.square(), count), 42);
}

template <typename Real>
void Trainer<Real>::poll() {
  if (!pending_.empty()) pending_.front()->done();
}

template <typename Real>
double Trainer<Real>::rehearse_exchanges(const std::function<void()>& between) {
  exchanging_ = true;
  const StepTimes before = times_;
  const double start = monotonic_seconds();
  for (size_t i = parameters_.blocks().size(); i-- > 0;) {
    if (i + 1 < parameters_.blocks().size()) between();
    start_reduction(i);
  }
  finish_reductions();
  if (stage_.layout.zero1) {
    for (const Block& block : parameters_.blocks()) {
      const auto share = parameters_.share(block);
      fabric_.data->all_gather(parameters_.weights() + share.begin,
                               parameters_.weights() + block.offset, share.end - share.begin);
    }
    ops_.weights_changed();
  }
  ops_.finish();
  times_ = before;
  return monotonic_seconds() - start;
}

template class Trainer<float>;
template class Trainer<double>;

}  // namespace cb::training
