#include "bench/training/infer_session.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/clock.h"

namespace cb::training {
namespace {

// Wrong data: no further generation would mean anything. Thrown on every rank after the same one.
struct WrongData {};

// Smaller is earlier in a pass; fits into an fp32 number exactly.
int64_t order_in_pass(const PlaceInStep& place, int64_t layers) {
  if (place.part == PlaceInStep::Part::head) return 2 * layers;
  return 2 * place.layer + (place.part == PlaceInStep::Part::forward_feed_forward ? 1 : 0);
}

}  // namespace

// In fp32 a sum of k products is off by about √k·2⁻²⁴ of its size, and each layer adds its share.
//
// In bf16 a number is off by up to 2⁻⁸ of its size, by 2⁻⁸/√6 in the root mean square. Five
// operands of products are rounded a layer, and one before the logits; errors of layers add up as
// a root, and both ways have theirs: 2⁻⁸·√((5·L + 1)/3). A head that is lost in every layer, or
// keys that are off by a position, are far above it. One head of H that is lost in the last
// layer alone is about √(1/(2·H·L)) of the residual stream: with many of both it may pass.
double cache_limit(const Shape& s, bool bf16) {
  constexpr double kToSpare = 3;
  const auto layers = static_cast<double>(s.layers);
  if (bf16) return kToSpare * 0x1p-8 * std::sqrt((5 * layers + 1) / 3);
  const auto longest =
      static_cast<double>(std::max({s.hidden, s.feed_forward, s.heads * s.head_dim}));
  return 2 * 0x1p-24 * std::sqrt(longest) * (layers + 1);
}

InferSession::InferSession(Context& context, const InferOptions& options, Backend<float>& backend,
                           Fabric<float>& fabric, Generator<float>& generator)
    : context_(context),
      options_(options),
      backend_(backend),
      fabric_(fabric),
      generator_(generator) {}

// `place` is where it began on this rank, or the largest number if nowhere. Of the ranks that share
// matrices the one with the least place is named: the others got its sums.
bool InferSession::first_of_replica(int64_t place) {
  float least = place == std::numeric_limits<int64_t>::max() ? std::numeric_limits<float>::lowest()
                                                             : -static_cast<float>(place);
  fabric_.agreement().all_reduce_max(&least, 1);
  return place != std::numeric_limits<int64_t>::max() && static_cast<float>(-place) == least;
}

void InferSession::take_pass(const Pass& pass) {
  context_.watchdog.alive();
  if (context_.comm.size() == 1 && context_.cancel.cancelled()) throw Interrupted();
  if (pass.finite) return;
  finite_ = false;
  const auto& found = generator_.not_finite();
  const bool mine = first_of_replica(found ? order_in_pass(*found, options_.shape.layers)
                                           : std::numeric_limits<int64_t>::max());
  if (mine)
    not_finite_ = said("infer.not_finite", context_.who(), found->name(), generator_.chosen());
}

// The cache of a layer is named before the logits, because it is what they came of.
Said InferSession::where(int64_t place) const {
  if (place < options_.shape.layers) return said("infer.cache_of_layer", place);
  return said("infer.logits_of_token", place - options_.shape.layers);
}

void InferSession::compare_with_first() {
  const std::vector<uint64_t> now = generator_.hashes();
  if (reference_.empty()) reference_ = now;
  const auto parted = std::mismatch(reference_.begin(), reference_.end(), now.begin(), now.end());
  const bool same = parted.first == reference_.end();
  const int64_t place =
      same ? std::numeric_limits<int64_t>::max() : parted.first - reference_.begin();
  const bool mine = first_of_replica(place);
  if (mine && differs_.empty()) differs_ = said("infer.not_repeated", context_.who(), where(place));
}

// A replica of several ranks waits for each other, and a device that is lost ends them all.
bool InferSession::guarded(const std::function<bool()>& work) {
  if (fabric_.tensor->size() > 1) return work();
  try {
    return work();
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception&) {
    lost_ = std::current_exception();
    return false;
  }
}

bool InferSession::generate_once(const std::function<void(const Pass&)>& passed) {
  return guarded([&] { return pass_all(passed); });
}

bool InferSession::look_at_repetition() {
  return guarded([&] {
    compare_with_first();
    return true;
  });
}

std::optional<CacheError> InferSession::compare_without_cache() {
  std::optional<CacheError> out;
  static_cast<void>(guarded([&] {
    out = generator_.compare_without_cache();
    return true;
  }));
  return out;
}

bool InferSession::pass_all(const std::function<void(const Pass&)>& passed) {
  const bool last = generations_ == options_.repetitions;  // the first is not timed
  const Fault& fault = options_.fault;
  const auto take = [&](const Pass& pass) {
    passed(pass);
    take_pass(pass);
  };
  take(generator_.prefill());
  if (last && fault.kind != Fault::Kind::none && fault.rank == context_.comm.rank())
    generator_.spoil_cache(fault.layer, fault.kind == Fault::Kind::nan);
  while (finite_ && generator_.chosen() < options_.generation.new_tokens) take(generator_.step());
  ++generations_;
  return finite_;
}

double InferSession::one_generation(Spans& spans, Generated& measured) {
  context_.watchdog.note(fmt::format("generation {}", generations_));
  double seconds = 0;
  bool prompt = true;
  const auto passed = [&](const Pass& pass) {
    seconds += pass.seconds;
    if (std::exchange(prompt, false)) {
      measured.prompt_ledger = backend_.take_ledger();
      return spans.add("first_token", pass.seconds);
    }
    spans.add("token", pass.seconds);
    spans.add("exchanged", pass.exchanged);
  };
  bool good = guarded([&] {
    static_cast<void>(backend_.take_ledger());
    return pass_all(passed);
  });
  good = good && look_at_repetition();
  context_.progress.update(
      static_cast<double>(generations_) / static_cast<double>(options_.repetitions + 1),
      fmt::format("generation {} of {}", generations_, options_.repetitions + 1));
  if (context_.comm.any(!good)) throw WrongData();
  return seconds;
}

Generated InferSession::generate() {
  Generated out;
  SamplePlan plan{.what = "generation", .spans = {"first_token", "token", "exchanged"}};
  plan.warm_up_seconds = 1e9;
  plan.warm_up_samples = 1;
  plan.stop.min_samples = plan.stop.max_samples = static_cast<uint64_t>(options_.repetitions);
  plan.stop.target_half_width = 0;
  plan.stop.max_seconds = 1e9;
  try {
    const SampleRun run = context_.sampler.measure_spans(
        plan, [&](Spans& spans) { return one_generation(spans, out); });
    out.first_token_seconds = run.spans.of("first_token");
    out.token_seconds = run.spans.of("token");
    out.exchanged_seconds = run.spans.of("exchanged");
    context_.watchdog.note("all tokens without a cache");
    out.cache_error = compare_without_cache();
  } catch (const WrongData&) {
    out.stopped = true;
  }
  out.lost = lost_;
  return out;
}

void add_infer_checks(Record& record, size_t self, const std::string& who,
                      const InferOptions& options, const Findings& found) {
  const auto add = [&](Check check, const Said& detail) {
    check.entity = self;
    if (!check.passed) check.detail = detail;
    record.checks.push_back(std::move(check));
  };
  add({.name = "finite", .passed = found.not_finite.empty()}, found.not_finite);
  if (!found.cache_error) return;
  // Whoever got its data from the first rank differs too, and is not named.
  add({.name = "repeat", .passed = found.differs.empty()}, found.differs);
  const double limit = cache_limit(options.shape, options.bf16);
  const CacheError& off = *found.cache_error;
  Check cache{.name = "cache", .passed = off.value <= limit, .limit = limit};
  if (std::isfinite(off.value)) cache.value = off.value;
  add(std::move(cache), said("infer.cache_differs", who, off.new_token));
}

void InferSession::add_checks(Record& record, size_t self, const Generated& measured) const {
  Findings found{not_finite_, differs_, {}};
  if (!measured.stopped) found.cache_error = measured.cache_error;
  add_infer_checks(record, self, context_.who(), options_, found);
}

}  // namespace cb::training
