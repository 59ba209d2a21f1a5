#include "bench/harness/telemetry.h"

#include <chrono>
#include <utility>

#include "core/clock.h"

namespace cb {

void BoundedSeries::add(double at, double value) {
  if (seen_++ % stride_ != 0) return;
  if (at_.size() == kBound) {
    for (size_t i = 0; i < kBound / 2; ++i) {
      at_[i] = at_[2 * i];
      values_[i] = values_[2 * i];
    }
    at_.resize(kBound / 2);
    values_.resize(kBound / 2);
    stride_ *= 2;
    // kBound is even, so this point falls on the new stride too.
  }
  at_.push_back(at);
  values_.push_back(value);
}

TelemetrySampler::TelemetrySampler(const FsRoot& fs, double period_seconds)
    : sensors_(fs),
      period_(period_seconds),
      start_(monotonic_seconds()),
      first_(sensors_.read()),
      last_(first_),
      series_(sensors_.sensors().size()),
      thread_([this] { loop(); }) {}

TelemetrySampler::~TelemetrySampler() { join(); }

void TelemetrySampler::join() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void TelemetrySampler::loop() {
  std::unique_lock lock(mutex_);
  do {
    lock.unlock();
    take();
    lock.lock();
  } while (
      !wake_.wait_for(lock, std::chrono::duration<double>(period_), [this] { return stopping_; }));
}

void TelemetrySampler::take() {
  const double at = monotonic_seconds() - start_;
  const std::vector<std::optional<double>> before = std::exchange(last_, sensors_.read());
  for (size_t i = 0; i < series_.size(); ++i) {
    if (!last_[i]) continue;
    if (sensors_.sensors()[i].counter) {
      if (!before[i] || *before[i] == *last_[i]) continue;
      series_[i].add(last_at_, *before[i]);
    }
    series_[i].add(at, *last_[i]);
  }
  last_at_ = at;
}

void TelemetrySampler::stop(Record& record, const std::string& host) {
  join();
  take();
  for (size_t i = 0; i < series_.size(); ++i) {
    const Sensor& s = sensors_.sensors()[i];
    if (s.counter && (!first_[i] || !last_[i] || *last_[i] < *first_[i])) continue;
    const size_t entity = record.entity({host, s.kind, s.id});
    if (s.counter)
      record.telemetry.deltas.push_back({s.name, s.unit, entity, *first_[i], *last_[i]});
    if (!s.counter || !series_[i].at().empty())
      record.telemetry.series.push_back(
          {s.name, s.unit, entity, series_[i].at(), series_[i].values()});
  }
}

}  // namespace cb
