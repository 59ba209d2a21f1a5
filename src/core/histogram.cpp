#include "core/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "core/error.h"

namespace cb {
namespace {

// The bucket number is in the bits of the double: its exponent and the top seven bits of its
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

// With more samples the sums would not be exact; no measurement comes near.
constexpr uint64_t kMaxSamples = uint64_t{1} << 53;

void require(bool fine, const char* what) {
  if (!fine) throw Error(std::string("histogram: ") + what);
}

}  // namespace

// Extends the kept range to include the bucket.
uint64_t& Histogram::bucket(size_t index) {
  if (counts_.empty()) first_ = index;
  if (index < first_) {
    counts_.insert(counts_.begin(), first_ - index, 0);
    first_ = index;
  }
  if (index >= first_ + counts_.size()) counts_.resize(index - first_ + 1);
  return counts_[index - first_];
}

double Histogram::bucket_middle(uint32_t bucket) { return middle(bucket); }

void Histogram::add(double value) { add(value, 1); }

void Histogram::add(double value, uint64_t times) {
  require(value >= 0 && value <= kMaxSample, "a sample is negative or not finite");
  if (times == 0) return;
  bucket(bucket_of(value)) += times;
  min_ = count_ == 0 ? value : std::min(min_, value);
  max_ = count_ == 0 ? value : std::max(max_, value);
  count_ += times;
  sum_ += static_cast<double>(times) * value;
  squares_ += static_cast<double>(times) * value * value;
}

void Histogram::merge(const Histogram& other) {
  if (other.count_ == 0) return;
  for (const auto& [index, count] : other.buckets()) bucket(index) += count;
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = count_ == 0 ? other.max_ : std::max(max_, other.max_);
  count_ += other.count_;
  sum_ += other.sum_;
  squares_ += other.squares_;
}

// Returns the value that stands for a sample of this bucket.
double Histogram::representative(size_t index) const {
  if (index == 0) return min_;
  if (index == kBuckets - 1) return max_;
  return std::clamp(middle(index), min_, max_);
}

double Histogram::at_rank(uint64_t rank) const {
  uint64_t seen = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= rank) return representative(first_ + i);
  }
  return max_;
}

// The smallest and the largest sample are known exactly and are mapped directly. All others are
// first scaled so that the buckets' middles add up to the exact sum: otherwise a share of a limit
// would have another mean than the power that it is computed from.
Histogram Histogram::mapped(const std::function<double(double)>& f) const {
  Histogram out;
  if (count_ == 0) return out;
  out.add(f(min_), 1);
  if (count_ == 1) return out;
  out.add(f(max_), 1);
  double rough = 0;
  const size_t last = counts_.size() - 1;
  const auto inner = [&](size_t i) {
    return counts_[i] - (i == 0 ? 1U : 0U) - (i == last ? 1U : 0U);
  };
  for (size_t i = 0; i <= last; ++i)
    rough += static_cast<double>(inner(i)) * representative(first_ + i);
  const double moved = rough > 0 ? (sum_ - min_ - max_) / rough : 1;
  for (size_t i = 0; i <= last; ++i)
    out.add(f(std::clamp(moved * representative(first_ + i), min_, max_)), inner(i));
  return out;
}

double Histogram::quantile(double q) const {
  if (count_ == 0) throw Error("a quantile of no samples was asked for");
  require(q >= 0 && q <= 1, "a quantile outside 0 to 1 was asked for");
  return at_rank(1 + static_cast<uint64_t>(std::floor(q * static_cast<double>(count_ - 1))));
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
    s.ci95 = std::array{at_rank((*ranks)[0]), at_rank((*ranks)[1])};
  }
  return s;
}

Histogram::Buckets Histogram::buckets() const {
  Buckets out;
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] != 0) out.emplace_back(static_cast<uint32_t>(first_ + i), counts_[i]);
  }
  return out;
}

Histogram Histogram::restore(const Buckets& buckets, const Exact& exact) {
  Histogram h;
  if (buckets.empty()) return h;
  for (size_t i = 0; i < buckets.size(); ++i) {
    const auto& [index, count] = buckets[i];
    require(index < kBuckets, "a bucket is out of range");
    require(i == 0 || index > buckets[i - 1].first, "the buckets are not ascending");
    require(count > 0, "a bucket is empty");
    require(count <= kMaxSamples - h.count_, "too many samples");
    h.count_ += count;
    h.bucket(index) = count;
  }
  require(std::isfinite(exact.sum) && std::isfinite(exact.sum_of_squares), "a sum is not finite");
  require(exact.min >= 0 && exact.min <= exact.max, "the minimum is negative or above the maximum");
  require(bucket_of(exact.min) == buckets.front().first, "the minimum is in another bucket");
  require(bucket_of(exact.max) == buckets.back().first, "the maximum is in another bucket");
  // The sums are of rounded numbers, so they are compared with some tolerance.
  const double n = static_cast<double>(h.count_), room = 1e-6;
  require(exact.sum >= n * exact.min * (1 - room) && exact.sum <= n * exact.max * (1 + room),
          "the sum does not fit the samples");
  require(exact.sum_of_squares >= exact.sum * exact.sum / n * (1 - room) &&
              exact.sum_of_squares <= exact.sum * exact.max * (1 + room),
          "the sum of squares does not fit the samples");
  h.min_ = exact.min;
  h.max_ = exact.max;
  h.sum_ = exact.sum;
  h.squares_ = exact.sum_of_squares;
  return h;
}

}  // namespace cb
