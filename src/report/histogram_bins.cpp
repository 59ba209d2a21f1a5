#include "report/histogram_bins.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace cb {
namespace {

constexpr size_t kBins = 48;

struct Weighted {
  double value;
  double count;
};

// The kept samples, or the buckets of the histogram if there is one (it holds all samples).
std::vector<Weighted> weighted(const Samples& samples, double min, double max) {
  std::vector<Weighted> out;
  if (const Histogram* histogram = samples.histogram()) {
    for (const auto& [bucket, count] : histogram->buckets())
      out.push_back(
          {std::clamp(Histogram::bucket_middle(bucket), min, max), static_cast<double>(count)});
    return out;
  }
  for (const double value : samples.list()) out.push_back({value, 1});
  return out;
}

}  // namespace

DistributionChart bins_of(const Samples& samples) {
  const Summary summary = samples.summary();
  DistributionChart out;
  out.log_x = summary.min > 0 && summary.max > 3 * summary.min;
  const auto place = [&](double v) { return out.log_x ? std::log(v) : v; };
  const auto value = [&](double p) { return out.log_x ? std::exp(p) : p; };
  double low = place(summary.min);
  double high = place(summary.max);
  if (!(high > low)) {  // a single value: the bins span a hundredth around it
    const double half = std::max(std::abs(summary.max) * 0.005, 1e-12);
    low = summary.min - half;
    high = summary.max + half;
  }
  const double width = (high - low) / kBins;
  for (size_t i = 0; i < kBins; ++i) {
    const auto at = static_cast<double>(i);
    out.bins.push_back({value(low + at * width), value(low + (at + 1) * width), 0});
  }
  for (const auto& [v, count] : weighted(samples, summary.min, summary.max)) {
    const double index = std::floor((place(v) - low) / width);
    out.bins[static_cast<size_t>(std::clamp(index, 0.0, double{kBins - 1}))].count += count;
  }
  return out;
}

}  // namespace cb
