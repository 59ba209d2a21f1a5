#include "bench/storage/io/tally.h"

#include <algorithm>
#include <cmath>

namespace cb::io {
namespace {

constexpr size_t kMaxSlices = 1 << 13;
constexpr double kInterval = 0.1;    // seconds
constexpr double kMinRequests = 32;  // per interval: fewer would show the spread of counting
constexpr double kMinIntervals = 6;  // with fewer intervals the median has no 95 % interval

}  // namespace

void RateSeries::Slice::join(const Slice& other) {
  bytes += other.bytes;
  ios += other.ios;
  latency_sum += other.latency_sum;
  latency_max = std::max(latency_max, other.latency_max);
}

void RateSeries::widen() {
  const size_t half = (slices_.size() + 1) / 2;
  for (size_t i = 0; i < half; ++i) {
    Slice sum = slices_[2 * i];
    if (2 * i + 1 < slices_.size()) sum.join(slices_[2 * i + 1]);
    slices_[i] = sum;
  }
  slices_.resize(half);
  width_ *= 2;
  per_width_ /= 2;
}

void RateSeries::add(double seconds_since_start, uint64_t bytes, double latency_seconds) {
  while (seconds_since_start >= width_ * static_cast<double>(kMaxSlices)) widen();
  const auto slice = static_cast<size_t>(seconds_since_start * per_width_);
  if (slice >= slices_.size()) slices_.resize(slice + 1);
  slices_[slice].join({bytes, 1, latency_seconds, latency_seconds});
}

void RateSeries::merge(const RateSeries& other) {
  RateSeries theirs = other;
  while (width_ < theirs.width_) widen();
  while (theirs.width_ < width_) theirs.widen();
  if (slices_.size() < theirs.slices_.size()) slices_.resize(theirs.slices_.size());
  for (size_t i = 0; i < theirs.slices_.size(); ++i) slices_[i].join(theirs.slices_[i]);
}

double RateSeries::bytes_until(double seconds) const {
  double out = 0;
  for (size_t i = 0; i < slices_.size(); ++i) {
    const double share = seconds * per_width_ - static_cast<double>(i);
    if (share <= 0) break;
    out += static_cast<double>(slices_[i].bytes) * std::min(1.0, share);
  }
  return out;
}

RateSeries::Intervals RateSeries::intervals(double elapsed) const {
  uint64_t ios = 0;
  for (const Slice& s : slices_) ios += s.ios;
  if (ios == 0 || !(elapsed > 0)) return {};
  const double wanted =
      std::min(std::max(kInterval, kMinRequests * elapsed / static_cast<double>(ios)),
               elapsed / kMinIntervals);
  const auto group = static_cast<size_t>(std::max(1.0, std::floor(wanted / width_)));
  Intervals out{width_ * static_cast<double>(group)};
  // Adds a little slack: 5 s of 100 ms are 50 intervals, whatever the last bit of the division
  // says.
  const auto count = static_cast<size_t>(elapsed / out.seconds + 1e-9);
  if (static_cast<double>(count) < kMinIntervals) return {};
  for (size_t i = 0; i < count; ++i) {
    Slice sum;
    for (size_t k = i * group; k < std::min((i + 1) * group, slices_.size()); ++k)
      sum.join(slices_[k]);
    out.bytes_per_second.push_back(static_cast<double>(sum.bytes) / out.seconds);
    out.ios.push_back(sum.ios);
    out.latency_sum.push_back(sum.latency_sum);
    out.latency_max.push_back(sum.latency_max);
  }
  return out;
}

void Tally::add(double latency_seconds, double since_start, uint64_t length) {
  latency.add(latency_seconds);
  series.add(since_start, length, latency_seconds);
  ++ios;
  bytes += length;
}

void Tally::merge(const Tally& other) {
  latency.merge(other.latency);
  series.merge(other.series);
  ios += other.ios;
  bytes += other.bytes;
}

}  // namespace cb::io
