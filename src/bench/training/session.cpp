#include "bench/training/session.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <sstream>

#include <fmt/format.h>

#include "bench/training/rank_values.h"
#include "core/sha256.h"
#include "core/stats.h"

namespace cb::training {
namespace {

// Wrong data: no further step would mean anything. Thrown on every rank after the same step.
struct Stopped {};

constexpr double kStragglerLimit = 1.10;  // SuperBench's bar for training steps: −10 %
constexpr double kFirstLossBand = 0.02;
constexpr size_t kWindow = 10;  // steps whose mean counts: the loss of one alone is noise

// Suspects as text between ranks.
std::string packed(const std::vector<Suspect>& suspects) {
  std::string out;
  for (const Suspect& s : suspects)
    out += fmt::format("{} {} {}\n", s.rank, s.order, s.certain ? 1 : 0);
  return out;
}

std::vector<Suspect> unpacked(const std::string& text) {
  std::istringstream in(text);
  std::vector<Suspect> out;
  for (Suspect s; in >> s.rank >> s.order >> s.certain;) out.push_back(s);
  return out;
}

// Means of all windows of the steps, in their order.
std::vector<double> means_of(const std::vector<double>& losses) {
  const size_t width = std::min(kWindow, losses.size());
  std::vector<double> out;
  for (size_t end = width; end <= losses.size(); ++end) {
    const auto last = losses.begin() + static_cast<std::ptrdiff_t>(end);
    out.push_back(std::accumulate(last - static_cast<std::ptrdiff_t>(width), last, 0.0) /
                  static_cast<double>(width));
  }
  return out;
}

// The text is drawn, so the mean of a step varies around its entropy. A token costs −ln(likely) or
// −ln(rare); six standard deviations of the mean over `tokens` are no chance.
double floor_slack(const TextRule& rule, double tokens) {
  const double k = static_cast<double>(rule.symbols), rare = rule.noise / k;
  const double likely = 1 - rule.noise + rare;
  if (rare == 0) return 1e-4;
  const double spread = std::log(likely / rare);
  return 6 * spread * std::sqrt(likely * (1 - likely) / tokens) + 1e-4;
}

// Σ(share of a target)² over the first step's targets: what the mean of independent losses, one for
// each target, varies by, over what one varies by. A long step is as its first tokens are.
double repetition_of_targets(const Options& o) {
  constexpr int64_t kEnough = 1 << 16;
  const Text text(o.text, o.recipe.seed);
  const int64_t sequences = o.batch.sequences * o.batch.micro_batches * o.layout.data;
  std::vector<int32_t> tokens(static_cast<size_t>(o.batch.sequence + 1));
  std::map<int32_t, int64_t> counts;
  int64_t all = 0;
  for (int64_t i = 0; i < sequences && all < kEnough; ++i, all += o.batch.sequence) {
    text.write(i, o.batch.sequence + 1, tokens.data());
    for (size_t at = 1; at < tokens.size(); ++at) ++counts[tokens[at]];
  }
  double sum = 0;
  for (const auto& [token, count] : counts) {
    const double share = static_cast<double>(count) / static_cast<double>(all);
    sum += share * share;
  }
  return sum;
}

// A token's first loss varies by the deviation of its logit. The few tokens of a short step do not
// average that away: six standard deviations of their mean are no chance.
double first_loss_band(const Options& o, double variance, double expected) {
  return std::max(kFirstLossBand, 6 * std::sqrt(variance * repetition_of_targets(o)) / expected);
}

}  // namespace

const std::vector<std::string> kSpans{"total",     "forward",    "backward",  "optimizer",
                                      "exposed",   "bubble",     "computing", "matmul",
                                      "attention", "elementwise"};

double Trained::longest_step() const { return std::ranges::max(run.spans.of("total")); }

Session::Session(Context& context, const Options& options, Trainer<float>& trainer,
                 Backend<float>& backend)
    : context_(context), options_(options), trainer_(trainer), backend_(backend) {
  trainer.tell_of_micro_batches([&context] { context.watchdog.alive(); });
}

// Collective. What fails on one rank fails on all, so that nobody waits for it. Who does not come
// back from `call` is behind those that wait for it.
void Session::together(const std::function<void()>& call) {
  Said failure;
  try {
    call();
  } catch (const Error& e) {
    failure = said("said.of", context_.who(), e.said());
  } catch (const std::exception& e) {  // no memory, or no thread
    failure = said("said.of", context_.who(), e.what());
  }
  throw_where_failed(context_.comm, failure);
}

std::string Session::digest_of_weights() {
  std::string all;
  for (const std::string& blob :
       context_.comm.gather(bytes_of(std::vector<uint64_t>{trainer_.weights_hash()})))
    all += blob;
  return context_.comm.is_root() ? sha256_hex(all) : std::string();
}

void Session::suspect(const char* check, const std::vector<Suspect>& suspects) {
  auto& known = found_[check];
  known.insert(known.end(), suspects.begin(), suspects.end());
  if (!suspects.empty()) throw Stopped();
}

std::vector<Suspect> Session::suspects_of(const std::vector<TracePoint>& trace) {
  std::vector<std::vector<TracePoint>> traces;
  for (const std::string& blob : context_.comm.gather(bytes_of(trace)))
    traces.push_back(values_of<TracePoint>(blob));
  std::string text;
  if (context_.comm.is_root()) text = packed(find_different(traces, options_.layout));
  return unpacked(context_.comm.broadcast_text(text));
}

// With one replica the step is computed twice; a planted fault acts in the first only, as a fault
// that comes and goes would.
void Session::compare_twins() {
  context_.watchdog.note(fmt::format("twin step after step {}", done_));
  const std::vector<TracePoint> first = trainer_.twin_step(true);
  if (options_.layout.data > 1) return suspect("twin", suspects_of(first));
  const auto parted = first_difference(first, trainer_.twin_step(false));
  std::vector<uint64_t> mine;
  if (parted) mine.push_back(*parted);
  std::vector<Suspect> all;
  const std::vector<std::string> blobs = context_.comm.gather(bytes_of(mine));
  for (size_t rank = 0; rank < blobs.size(); ++rank)
    for (const uint64_t order : values_of<uint64_t>(blobs[rank]))
      all.push_back({static_cast<int>(rank), order, true});
  // Whoever got its data from the first one differs later.
  const auto earliest =
      std::min_element(all.begin(), all.end(), [](auto& a, auto& b) { return a.order < b.order; });
  std::string text;
  if (earliest != all.end()) text = packed({*earliest});
  suspect("twin", unpacked(context_.comm.broadcast_text(text)));
}

void Session::compare_weights() {
  const PlaceInStep place{PlaceInStep::Part::weights, 0, 0};
  suspect("weights",
          suspects_of({{place.order(options_.shape.layers), trainer_.replicated_hash()}}));
}

// The rank whose place is the earliest in the order of the step: the others got it from there.
void Session::locate_not_finite() {
  std::vector<uint64_t> mine;
  if (trainer_.not_finite()) mine.push_back(trainer_.not_finite()->order(options_.shape.layers));
  const std::vector<std::string> blobs = context_.comm.gather(bytes_of(mine));
  std::vector<Suspect> all;
  for (size_t rank = 0; rank < blobs.size(); ++rank)
    for (const uint64_t order : values_of<uint64_t>(blobs[rank]))
      all.push_back({static_cast<int>(rank), order, true});
  std::string text;
  if (context_.comm.is_root()) {
    const auto earliest = std::min_element(all.begin(), all.end(),
                                           [](auto& a, auto& b) { return a.order < b.order; });
    // A sum over ranks that overflowed: no rank alone, so the gradients of rank 0 stand for it.
    const Suspect whole{
        0, PlaceInStep{PlaceInStep::Part::weights, 0, 0}.order(options_.shape.layers), false};
    text = packed({earliest != all.end() ? *earliest : whole});
  }
  suspect("finite", unpacked(context_.comm.broadcast_text(text)));
}

double Session::one_step(Spans& spans, Trained& measured) {
  context_.watchdog.note(fmt::format("step {}", done_));
  static_cast<void>(backend_.take_ledger());
  const StepResult result = trainer_.step();
  measured.ledger = backend_.take_ledger();
  ++done_;
  if (!result.updated) locate_not_finite();
  measured.losses.push_back(result.loss);
  const StepTimes& t = result.times;
  spans.add("total", t.total);
  spans.add("forward", t.forward);
  spans.add("backward", t.backward);
  spans.add("optimizer", t.optimizer);
  spans.add("exposed", t.exposed_communication);
  spans.add("bubble", t.pipeline / t.total);
  spans.add("computing", t.computing());
  spans.add("matmul", measured.ledger.of(Work::matmul));
  spans.add("attention", measured.ledger.of(Work::attention));
  spans.add("elementwise", measured.ledger.of(Work::elementwise) - t.clearing);
  if (options_.hash_every > 0 && options_.layout.data > 1 && done_ % options_.hash_every == 0)
    compare_weights();
  if (options_.twin_every > 0 && done_ % options_.twin_every == 0 && done_ < options_.steps)
    compare_twins();
  if (checkpoints_ && done_ % options_.checkpoint_every == 0) save_checkpoint(measured);
  context_.progress.update(static_cast<double>(done_) / static_cast<double>(options_.steps),
                           fmt::format("step {} loss {:.4f}", done_, result.loss));
  return t.total;
}

void Session::share_computing(Trained& measured) {
  const std::vector<double>& seconds = measured.run.spans.of("computing");
  std::vector<double> medians, least;
  for (const std::string& blob : context_.comm.gather(bytes_of(std::vector<double>{
           median(seconds), *std::min_element(seconds.begin(), seconds.end())}))) {
    medians.push_back(values_of<double>(blob).at(0));
    least.push_back(values_of<double>(blob).at(1));
  }
  measured.computing_seconds = values_of<double>(context_.comm.broadcast_text(bytes_of(medians)));
  measured.least_seconds = values_of<double>(context_.comm.broadcast_text(bytes_of(least)));
}

Trained Session::train() {
  Trained out;
  if (!options_.checkpoint_dir.empty()) begin_checkpoints(out);
  SamplePlan plan{.what = "training step", .spans = kSpans};
  plan.warm_up_seconds = 1e9;
  plan.warm_up_samples = static_cast<uint64_t>(options_.warm_up);
  plan.stop.min_samples = plan.stop.max_samples =
      static_cast<uint64_t>(options_.steps - done_ - options_.warm_up);
  plan.stop.target_half_width = 0;
  plan.stop.max_seconds = 1e9;
  try {
    if (options_.twin_every > 0) compare_twins();
    out.run =
        context_.sampler.measure_spans(plan, [&](Spans& spans) { return one_step(spans, out); });
    if (options_.hash_every > 0 && options_.layout.data > 1) compare_weights();
    if (options_.twin_every > 0) compare_twins();
    out.weights_digest = digest_of_weights();
    share_computing(out);
  } catch (const Stopped&) {
    out.stopped = true;
  }
  out.memory_bytes = backend_.allocated_bytes();
  return out;
}

void Session::add_checks(Record& record, size_t self, size_t whole, const Trained& measured) const {
  const int rank = context_.comm.rank();
  const bool root = context_.comm.is_root();
  const auto about_job = [&](const char* name, bool passed, double value, double limit,
                             const Said& detail) {
    if (!root) return;
    Check check{.name = name, .passed = passed, .limit = limit, .entity = whole};
    if (std::isfinite(value)) check.value = value;
    if (!passed) check.detail = detail;
    record.checks.push_back(std::move(check));
  };
  // Who did something else than the others.
  for (const auto& [name, suspects] : found_) {
    Check check{.name = name, .passed = true, .entity = self};
    for (const Suspect& s : suspects) {
      if (s.rank != rank) continue;
      const Said place = PlaceInStep::of_order(s.order, options_.shape.layers).name();
      check.passed = false;
      check.detail = name == "finite" ? said("train.not_finite", context_.who(), place, done_ - 1)
                     : !s.certain     ? said("train.contradicts", context_.who(), place)
                     : options_.layout.data == 1 ? said("train.not_repeated", context_.who(), place)
                                                 : said("train.differs", context_.who(), place);
    }
    record.checks.push_back(std::move(check));
  }
  if (measured.losses.empty()) return;
  if (!found_.contains("finite"))
    record.checks.push_back({.name = "finite", .passed = true, .entity = self});

  if (measured.resumed_at == 0) {
    const double variance = static_cast<double>(options_.shape.hidden) * 0.02 * 0.02;
    const double expected = first_loss(options_.shape.vocabulary, variance);
    const double off = std::abs(measured.losses.front() - expected) / expected;
    const double band = first_loss_band(options_, variance, expected);
    about_job("first_loss", off <= band, off, band,
              said("train.first_loss", measured.losses.front(), expected));
  }
  const double floor = loss_floor(options_.text);
  const std::vector<double> means = means_of(measured.losses);
  const auto tokens = static_cast<double>(options_.batch.tokens() * options_.layout.data) *
                      static_cast<double>(std::min(kWindow, measured.losses.size()));
  const double lowest = *std::min_element(means.begin(), means.end());
  const double slack = floor_slack(options_.text, tokens);
  about_job("floor", lowest >= floor - slack, floor - lowest, slack,
            said("train.below_floor", lowest, floor));
  if (options_.reach && !measured.stopped) {
    const double above = means.back() - floor;
    about_job("reach", above <= *options_.reach, above, *options_.reach,
              said("train.not_reached", means.back(), floor, *options_.reach));
  }
  if (measured.stopped) return;
  add_straggler_check(record, self, measured);
}

// A slow part is slow in its fastest step too; what disturbs a host for a while is not. Ranks that
// share cores disturb one another, so nobody is accused there.
void Session::add_straggler_check(Record& record, size_t self, const Trained& measured) const {
  if (measured.crowded) return;
  const auto ratio_of = [&](const std::vector<double>& seconds) {
    for (const Straggler& s : find_stragglers(seconds, options_.layout, kStragglerLimit))
      if (s.rank == context_.comm.rank()) return s.ratio;
    return 1.0;
  };
  const double ratio =
      std::min(ratio_of(measured.computing_seconds), ratio_of(measured.least_seconds));
  Check check{.name = "straggler", .passed = ratio == 1.0, .entity = self, .finding = true};
  if (!check.passed) {
    check.value = ratio;
    check.limit = kStragglerLimit;
    check.detail = said("train.straggler", context_.who(), fmt::format("{:.2f}", ratio));
  }
  record.checks.push_back(std::move(check));
}

}  // namespace cb::training
