#include "bench/training/generator.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/clock.h"

namespace cb::training {
namespace {

Stage with_tokens(Stage stage, const Generation& g, int64_t tokens) {
  stage.batch = {.sequence = tokens, .sequences = g.sequences, .micro_batches = 1};
  return stage;
}

double larger_or_nan(double a, double b) { return std::isnan(a) || a > b ? a : b; }

}  // namespace

template <typename Real>
Generator<Real>::Generator(Backend<Real>& backend, Fabric<Real>& fabric, Stage stage,
                           Parameters<Real>& parameters, const Generation& generation,
                           const Text& text, int64_t first_sequence)
    : ops_(backend),
      fabric_(fabric),
      generation_(generation),
      prompt_stage_(with_tokens(stage, generation, generation.prompt)),
      token_stage_(with_tokens(stage, generation, 1)),
      parameters_(parameters),
      watch_(backend, stage.shape.layers, Fault()),
      prompt_(backend, fabric, prompt_stage_, parameters, watch_, {}),
      token_(backend, fabric, token_stage_, parameters, watch_, {}),
      prompt_tape_(prompt_.make_tape()),
      token_tape_(token_.make_tape()),
      cache_(backend, token_stage_, generation.computed()) {
  tokens_.resize(static_cast<size_t>(generation.sequences * generation.length()));
  said_.resize(static_cast<size_t>(marks_at() + watch_.marks()));
  answer_ = ops_.allocate(static_cast<int64_t>(said_.size()));
  position_ = ops_.allocate(1);
  one_ = ops_.allocate(1);
  const Real one = 1;
  ops_.put(one_.get(), &one, 1);
  watch_.mark_in(answer_.get() + marks_at());
  token_tape_.chosen = answer_.get() + candidates_at();
  kept_.resize(static_cast<size_t>(generation.new_tokens));
  begin_tokens(text, first_sequence);
}

template <typename Real>
void Generator<Real>::begin_tokens(const Text& text, int64_t first_sequence) {
  for (int64_t i = 0; i < generation_.sequences; ++i)
    text.write(first_sequence + i, generation_.prompt, tokens_.data() + i * generation_.length());
}

template <typename Real>
std::vector<int32_t> Generator<Real>::slice(int64_t first, int64_t count) const {
  std::vector<int32_t> out;
  for (int64_t i = 0; i < generation_.sequences; ++i) {
    const auto from =
        tokens_.begin() + static_cast<std::ptrdiff_t>(i * generation_.length() + first);
    out.insert(out.end(), from, from + static_cast<std::ptrdiff_t>(count));
  }
  return out;
}

// The ranks agree on the token, whatever rounding does to each: the largest logit of all, and of
// those that have it the first. Numbers of tokens are exact in fp32, since there are fewer than
// 2^24. The last candidate says that a rank saw a number that is not finite.
template <typename Real>
void Generator<Real>::choose(const Real* logits) {
  const VocabularyPart part = token_stage_.vocabulary();
  Real *const top = answer_.get(), *const candidates = top + candidates_at();
  const auto largest_of_all = [&](Real* values, int64_t count) {
    const double start = monotonic_seconds();
    fabric_.tensor->all_reduce_max(values, count);
    choosing_seconds_ += monotonic_seconds() - start;
  };
  ops_.row_max(logits, top, generation_.sequences, part.count);
  largest_of_all(top, generation_.sequences);
  ops_.choose(logits, top, candidates, generation_.sequences, part, top + marks_at(),
              watch_.marks());
  largest_of_all(candidates, generation_.sequences + 1);
}

// All of it stays on the device.
template <typename Real>
void Generator<Real>::compute(Decoder<Real>& decoder, Tape<Real>& tape, int64_t place) {
  ops_.zero(answer_.get() + marks_at(), watch_.marks());
  decoder.forward(tape, &cache_);
  logits_ = decoder.logits(tape, place);
  choose(logits_);
}

template <typename Real>
void Generator<Real>::compute_step() {
  cache_.position = position_.get();
  compute(token_, token_tape_, 0);
  ops_.add(position_.get(), one_.get(), 1);
}

// What a step queues is the same for each token: tokens and positions lie on the device. It is
// computed once, since what is recorded must have been called before, and then what it began with
// is put back: all steps that count are computed in the same way.
template <typename Real>
void Generator<Real>::record_step() {
  tried_to_record_ = true;
  const int64_t length = cache_.length;
  compute_step();
  Recorded made = ops_.record([&] { compute_step(); });
  const auto begin = static_cast<Real>(length);
  ops_.put(position_.get(), &begin, 1);
  ops_.put(answer_.get(), said_.data(), static_cast<int64_t>(said_.size()));
  cache_.length = length;
  const bool all = all_recorded(made.recording != nullptr);
  if (made.recording && !all) made = {nullptr, said("infer.another_records_not")};
  recording_ = std::move(made.recording);
  why_not_recorded_ = std::move(made.why_not);
}

// Exchanges of a recorded step meet only those of one: all ranks record, or none.
template <typename Real>
bool Generator<Real>::all_recorded(bool mine) {
  Real refused = mine ? 0 : 1;
  if (!ops_.on_host()) fabric_.agreement().all_reduce_max(&refused, 1);
  return refused == 0;
}

template <typename Real>
Pass Generator<Real>::pass(Decoder<Real>& decoder, const std::function<void()>& compute) {
  const double start = monotonic_seconds();
  const double waited = decoder.waiting_seconds() + choosing_seconds_;
  watch_.begin_step();
  compute();
  ops_.look(said_.data(), answer_.get(), static_cast<int64_t>(said_.size()));
  Pass out;
  out.seconds = monotonic_seconds() - start;
  out.exchanged = decoder.waiting_seconds() + choosing_seconds_ - waited;
  watch_.settle(said_.data() + marks_at(), chosen_);
  out.finite = said_[static_cast<size_t>(marks_at() - 1)] == 0;
  if (!out.finite) return out;
  keep();
  take_tokens();
  return out;
}

template <typename Real>
void Generator<Real>::take_tokens() {
  for (int64_t i = 0; i < generation_.sequences; ++i)
    tokens_[static_cast<size_t>(i * generation_.length() + generation_.prompt + chosen_)] =
        static_cast<int32_t>(-said_[static_cast<size_t>(candidates_at() + i)]);
  ++chosen_;
}

template <typename Real>
void Generator<Real>::keep() {
  const int64_t count = generation_.sequences * token_stage_.vocabulary().count;
  Kept& kept = kept_[static_cast<size_t>(chosen_)];
  kept.top.assign(said_.begin(), said_.begin() + static_cast<std::ptrdiff_t>(candidates_at()));
  if (chosen_ == 0 || chosen_ == generation_.new_tokens - 1) {
    kept.logits.resize(static_cast<size_t>(count));
    ops_.look(kept.logits.data(), logits_, count);
  }
  logit_hashes_.push_back(ops_.hash(logits_, count));
}

template <typename Real>
Pass Generator<Real>::prefill() {
  cache_.length = 0;
  cache_.position = nullptr;
  chosen_ = 0;
  logit_hashes_.clear();
  const auto behind = static_cast<Real>(generation_.prompt);
  ops_.put(position_.get(), &behind, 1);
  prompt_tape_.tokens = slice(0, generation_.prompt);
  return pass(prompt_, [&] { compute(prompt_, prompt_tape_, generation_.prompt - 1); });
}

template <typename Real>
Pass Generator<Real>::step() {
  if (!tried_to_record_ && !ops_.on_host()) record_step();
  return pass(token_, [&] {
    if (!recording_) return compute_step();
    recording_->run();
    ++cache_.length;
    logits_ = token_.logits();
  });
}

template <typename Real>
void Generator<Real>::spoil_cache(int64_t layer, bool nan) {
  const int64_t kept = token_stage_.attention().kept();
  const auto& array = cache_.layers[static_cast<size_t>(layer - token_stage_.first_layer())];
  const int64_t at = cache_.length / 2 * kept + kept / 2;
  Real* element = array.get() + at * ops_.cached_bytes() / static_cast<int64_t>(sizeof(Real));
  if (nan)
    ops_.make_nan(element);
  else
    ops_.flip_bit(element);
}

template <typename Real>
int64_t Generator<Real>::cache_bytes() const {
  return token_stage_.layers() * cache_.bytes;
}

template <typename Real>
std::vector<uint64_t> Generator<Real>::hashes() const {
  std::vector<uint64_t> out;
  for (const auto& layer : cache_.layers) out.push_back(ops_.hash(layer.get(), cache_.numbers()));
  out.insert(out.end(), logit_hashes_.begin(), logit_hashes_.end());
  return out;
}

// The root mean square of the differences over that of the logits: no more numbers make it larger.
template <typename Real>
double Generator<Real>::difference_of_all(const Real* logits, const Kept& kept) {
  double off = 0, size = 0;
  for (size_t i = 0; i < kept.logits.size(); ++i) {
    const auto with = static_cast<double>(kept.logits[i]), without = static_cast<double>(logits[i]);
    off += (without - with) * (without - with);
    size += without * without;
  }
  return kept.logits.empty() ? 0 : std::sqrt(off / size);
}

// Of each sequence the largest logit and that of the chosen token, over the largest logit of all.
template <typename Real>
double Generator<Real>::difference_of_few(const Real* logits, int64_t new_token) {
  const VocabularyPart part = token_stage_.vocabulary();
  const Kept& kept = kept_[static_cast<size_t>(new_token)];
  const int64_t count = generation_.sequences * part.count;
  double size = 0, worst = 0;
  for (int64_t i = 0; i < count; ++i) size = std::max(size, std::abs(double(logits[i])));
  for (int64_t i = 0; i < generation_.sequences; ++i) {
    const Real* row = logits + i * part.count;
    const auto top = static_cast<double>(kept.top[static_cast<size_t>(i)]);
    const auto largest = static_cast<double>(*std::max_element(row, row + part.count));
    worst = larger_or_nan(worst, std::max(0.0, largest - top));
    const int32_t token =
        tokens_[static_cast<size_t>(i * generation_.length() + generation_.prompt + new_token)];
    if (part.holds(token))
      worst = larger_or_nan(worst, std::abs(static_cast<double>(row[token - part.first]) - top));
  }
  return worst / size;
}

// NaN in any of them makes the result NaN.
template <typename Real>
double Generator<Real>::difference(const Real* logits, int64_t new_token) {
  return larger_or_nan(difference_of_all(logits, kept_[static_cast<size_t>(new_token)]),
                       difference_of_few(logits, new_token));
}

template <typename Real>
CacheError Generator<Real>::compare_without_cache() {
  const Stage whole = with_tokens(token_stage_, generation_, generation_.computed());
  Decoder<Real> decoder(ops_, fabric_, whole, parameters_, watch_, {});
  Tape<Real> tape = decoder.make_tape();
  tape.tokens = slice(0, generation_.computed());
  watch_.begin_step();
  decoder.forward(tape);
  CacheError out;
  std::vector<Real> logits(
      static_cast<size_t>(generation_.sequences * token_stage_.vocabulary().count));
  for (int64_t i = 0; i < generation_.new_tokens; ++i) {
    const Real* found = decoder.logits(tape, generation_.prompt - 1 + i);
    ops_.look(logits.data(), found, static_cast<int64_t>(logits.size()));
    const double off = difference(logits.data(), i);
    if (off <= out.value || std::isnan(out.value)) continue;
    out = {off, i};
  }
  return out;
}

template class Generator<float>;
template class Generator<double>;

}  // namespace cb::training
