#include "bench/training/load_session.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <limits>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/clock.h"
#include "model/counter_random.h"

namespace cb::training {
namespace {

// Ranks that wait for a request hear at least so often that the job goes on.
constexpr double kHeartbeatSeconds = 0.1;

void sleep_seconds(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

InferOptions of_size(InferOptions options, int64_t sequences) {
  if (sequences != options.generation.sequences) options.fault = Fault();  // planted once
  options.generation.sequences = sequences;
  return options;
}

}  // namespace

std::vector<int64_t> generation_sizes(int64_t most) {
  std::vector<int64_t> out;
  for (int64_t size = 1; size < most; size *= 2) out.push_back(size);
  out.push_back(most);
  return out;
}

std::vector<double> seconds_of_full(std::span<const Serving> servings, int64_t most) {
  const std::vector<int64_t> sizes = generation_sizes(most);
  const int64_t fit_in_less = sizes.size() > 1 ? sizes[sizes.size() - 2] : 0;
  std::vector<double> out;
  for (const Serving& one : servings) {
    if (static_cast<int64_t>(one.count) > fit_in_less) out.push_back(one.end - one.begin);
  }
  return out;
}

double load_memory(const Shape& shape, int tensor, const Generation& most, int element_bytes) {
  const auto needed = [&](int64_t sequences) {
    return inference_memory(shape, tensor, {sequences, most.prompt, most.new_tokens},
                            element_bytes);
  };
  double out = needed(0);  // the weights
  for (const int64_t size : generation_sizes(most.sequences)) out += needed(size) - needed(0);
  return out;
}

struct LoadSession::Sized {
  Sized(Context& context, const InferOptions& all, int64_t sequences, Backend<float>& backend,
        Fabric<float>& fabric, Parameters<float>& parameters, const Text& text)
      : options(of_size(all, sequences)),
        generator(backend, fabric, options.stage(context.comm.rank()), parameters,
                  options.generation, text,
                  options.stage(context.comm.rank()).at.data * all.generation.sequences),
        session(context, options, backend, fabric, generator) {}

  const InferOptions options;
  Generator<float> generator;
  InferSession session;
};

// The first rank of a replica serves; the others do what it announces.
class LoadSession::Replica final : public Server {
 public:
  explicit Replica(LoadSession& load, size_t requests) : load_(load), requests_(requests) {}

  double now() override { return monotonic_seconds() - zero_ - checking_; }

  bool wait_until(double moment) override {
    for (double left = moment - now(); left > 0; left = moment - now()) {
      sleep_seconds(std::min(left, kHeartbeatSeconds));
      load_.context_.watchdog.alive();
      if (left > kHeartbeatSeconds && !load_.announce(0)) return false;
    }
    return true;
  }

  std::optional<Serving> generate(size_t first, size_t count) override {
    if (!load_.announce(count)) return std::nullopt;
    Serving out{.first = first, .count = count, .begin = now()};
    begun_ = monotonic_seconds();
    bool prompt = true;
    const bool finite = load_.generate(load_.sized_for(count), [&](const Pass& pass) {
      leave_out(monotonic_seconds() - begun_ - pass.seconds);
      out.end = now();
      if (std::exchange(prompt, false)) out.first_token = out.end;
      begun_ = monotonic_seconds();
    });
    tell(first + count);
    leave_out(monotonic_seconds() - begun_);
    if (!finite) return std::nullopt;
    return out;
  }

 private:
  void leave_out(double seconds) { checking_ += std::max(0.0, seconds); }
  void tell(size_t served) {
    load_.context_.progress.update(static_cast<double>(served) / static_cast<double>(requests_),
                                   fmt::format("request {} of {}", served, requests_));
  }

  LoadSession& load_;
  size_t requests_;
  double zero_ = monotonic_seconds();
  double checking_ = 0;  // seconds of checks, in which the clock stands
  double begun_ = 0;     // monotonic: the pass that goes on
};

LoadSession::LoadSession(Context& context, const InferOptions& options, Backend<float>& backend,
                         Fabric<float>& fabric, Parameters<float>& parameters, const Text& text)
    : context_(context), options_(options), fabric_(fabric) {
  for (const int64_t size : generation_sizes(options.generation.sequences))
    sizes_.push_back(
        std::make_unique<Sized>(context, options, size, backend, fabric, parameters, text));
}

LoadSession::~LoadSession() = default;

const Generator<float>& LoadSession::largest() const { return sizes_.back()->generator; }

LoadSession::Sized& LoadSession::sized_for(size_t count) {
  const auto enough = [&](const auto& sized) {
    return sized->options.generation.sequences >= static_cast<int64_t>(count);
  };
  return **std::ranges::find_if(sizes_, enough);
}

bool LoadSession::generate(Sized& sized, const std::function<void(const Pass&)>& passed) {
  const bool finite = sized.session.generate_once(passed);
  return finite && sized.session.look_at_repetition();
}

// The first time of each size is what later ones are compared with. Those of all sequences are
// timed behind it: back to back they are what the replica can do.
// The largest is the first: what a device needs for it serves the others.
bool LoadSession::generate_each_size(Loaded& out) {
  for (size_t left = sizes_.size(); left > 0; --left) {
    const auto& sized = sizes_[left - 1];
    const bool full = sized == sizes_.back();
    for (int64_t i = 0; i <= (full ? options_.repetitions : 0); ++i) {
      context_.watchdog.note(
          fmt::format("{} sequences before the load", sized->options.generation.sequences));
      double seconds = 0;
      if (!announce(0)) return false;
      if (!generate(*sized, [&](const Pass& pass) { seconds += pass.seconds; })) return false;
      if (i > 0) out.full_seconds.push_back(seconds);
    }
  }
  // One rank of the replica is named, so each says what it found only when all are through.
  return std::ranges::all_of(sizes_, [](const auto& s) { return s->session.differs().empty(); });
}

// Collective over the replica. False: on all of its ranks nothing more is generated.
bool LoadSession::announce(size_t count, bool ended) {
  float said[2] = {static_cast<float>(count), ended || context_.cancel.cancelled() ? 1.0F : 0.0F};
  fabric_.agreement().all_reduce_max(said, 2);
  announced_ = static_cast<size_t>(said[0]);
  stopped_ = said[1] > 0;
  return !stopped_;
}

void LoadSession::lead(Loaded& out, double rate, int64_t requests) {
  const int replica = options_.stage(context_.comm.rank()).at.data;
  out.arrivals =
      poisson_arrivals(rate, requests, mixed(options_.seed) ^ static_cast<uint64_t>(replica));
  Replica server(*this, out.arrivals.size());
  const auto most = static_cast<size_t>(options_.generation.sequences);
  out.servings = serve(out.arrivals, most, server);
  const bool all = !out.servings.empty() &&
                   out.servings.back().first + out.servings.back().count == out.arrivals.size();
  if (all && !stopped_) static_cast<void>(announce(0, true));
  std::ranges::copy(seconds_of_full(out.servings, options_.generation.sequences),
                    std::back_inserter(out.full_seconds));
}

void LoadSession::follow() {
  while (announce(0)) {
    context_.watchdog.alive();
    if (announced_ > 0 && !generate(sized_for(announced_), [](const Pass&) {})) return;
  }
}

// Other replicas have queues of their own, and are ready at other times. None of them ends a wait
// of this one before the job's deadline.
bool LoadSession::all_are_good(bool mine) {
  constexpr double kGood = 0, kWrong = 1, kCancelled = 2;
  context_.watchdog.note("waiting for the replicas that still serve");
  const double said = context_.cancel.cancelled() ? kCancelled : mine ? kGood : kWrong;
  const Watchdog::Meeting met(context_.watchdog);
  const Watchdog::Bounded waiting(context_.watchdog, std::numeric_limits<double>::infinity());
  const auto pending = context_.comm.start_max(said);
  std::optional<double> worst;
  while (!(worst = pending->result())) sleep_seconds(0.002);
  if (*worst == kCancelled) throw Interrupted();
  return *worst == kGood;
}

void LoadSession::find(Findings& found) {
  for (const auto& sized : sizes_) {
    if (found.not_finite.empty()) found.not_finite = sized->session.not_finite();
    if (found.differs.empty()) found.differs = sized->session.differs();
  }
}

Loaded LoadSession::run(double rate, int64_t requests) {
  Loaded out;
  const bool begun = all_are_good(generate_each_size(out));
  if (begun) {
    context_.watchdog.note(fmt::format("{} requests at {} a second", requests, rate));
    if (options_.stage(context_.comm.rank()).at.tensor == 0)
      lead(out, rate, requests);
    else
      follow();
  }
  find(out.found);
  const bool mine = !lost() && out.found.not_finite.empty() && out.found.differs.empty();
  out.good = begun && all_are_good(mine);
  if (!context_.comm.any(lost() || !out.found.not_finite.empty())) compare(out);
  out.lost = lost();
  return out;
}

std::exception_ptr LoadSession::lost() const {
  for (const auto& sized : sizes_)
    if (sized->session.lost()) return sized->session.lost();
  return {};
}

void LoadSession::compare(Loaded& out) {
  context_.watchdog.note("all tokens without a cache");
  CacheError worst;
  for (size_t left = sizes_.size(); left > 0; --left) {
    const auto off = sizes_[left - 1]->session.compare_without_cache();
    if (!off) return;
    if (!std::isnan(worst.value) && !(off->value <= worst.value)) worst = *off;
  }
  out.found.cache_error = worst;
}

}  // namespace cb::training
