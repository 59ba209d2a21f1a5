#include "core/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/error.h"

namespace cb {
namespace {

// The bucket is read off the bits of the double: its exponent and the top seven bits of its
// mantissa.
constexpr int kMantissaBits = 7;
constexpr int kShift = 52 - kMantissaBits;
constexpr uint64_t kBase = (1023ULL - 40) << kMantissaBits;
constexpr size_t kBuckets = static_cast<size_t>(40 + 64) << kMantissaBits;

size_t bucket_of(double value) {
  if (!(value > 0)) return 0;
  const uint64_t top = std::bit_cast<uint64_t>(value) >> kShift;
  if (top < kBase) return 0;
  return std::min<size_t>(static_cast<size_t>(top - kBase), kBuckets - 1);
}

double lower_edge(size_t bucket) { return std::bit_cast<double>((kBase + bucket) << kShift); }

double middle(size_t bucket) { return (lower_edge(bucket) + lower_edge(bucket + 1)) / 2; }

}  // namespace

Histogram::Histogram() : counts_(kBuckets) {}

void Histogram::add(double value) {
  ++counts_[bucket_of(value)];
  min_ = count_ == 0 ? value : std::min(min_, value);
  max_ = count_ == 0 ? value : std::max(max_, value);
  ++count_;
  sum_ += value;
  squares_ += value * value;
}

void Histogram::merge(const Histogram& other) {
  if (other.count_ == 0) return;
  for (size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = count_ == 0 ? other.max_ : std::max(max_, other.max_);
  count_ += other.count_;
  sum_ += other.sum_;
  squares_ += other.squares_;
}

double Histogram::quantile(double q) const {
  if (count_ == 0) throw Error("a quantile of no samples was asked for");
  const auto wanted = static_cast<uint64_t>(std::floor(q * static_cast<double>(count_ - 1)));
  uint64_t seen = 0;
  for (size_t i = 0; i < kBuckets; ++i) {
    seen += counts_[i];
    if (seen > wanted) return std::clamp(middle(i), min_, max_);
  }
  return max_;
}

Summary Histogram::summary() const {
  Summary s;
  s.n = count_;
  s.min = min_;
  s.p05 = quantile(0.05);
  s.median = quantile(0.5);
  s.p95 = quantile(0.95);
  s.p99 = quantile(0.99);
  s.max = max_;
  const double n = static_cast<double>(count_);
  s.mean = sum_ / n;
  if (count_ > 1) s.stdev = std::sqrt(std::max(0.0, (squares_ - sum_ * sum_ / n) / (n - 1)));
  if (const auto ranks = median_interval_ranks(count_)) {
    const double last = n - 1;
    s.ci95 = std::array{quantile(static_cast<double>((*ranks)[0] - 1) / last),
                        quantile(static_cast<double>((*ranks)[1] - 1) / last)};
  }
  return s;
}

Histogram::Buckets Histogram::buckets() const {
  Buckets out;
  for (size_t i = 0; i < kBuckets; ++i) {
    if (counts_[i] != 0) out.emplace_back(static_cast<uint32_t>(i), counts_[i]);
  }
  return out;
}

Histogram Histogram::restore(const Buckets& buckets, const Exact& exact) {
  Histogram h;
  for (const auto& [bucket, count] : buckets) {
    if (bucket >= kBuckets) throw Error("histogram bucket out of range");
    h.counts_[bucket] += count;
    h.count_ += count;
  }
  if (h.count_ > 0 && !(exact.min <= exact.max)) throw Error("histogram minimum above its maximum");
  h.min_ = exact.min;
  h.max_ = exact.max;
  h.sum_ = exact.sum;
  h.squares_ = exact.sum_of_squares;
  return h;
}

}  // namespace cb
