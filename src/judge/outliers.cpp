#include "judge/outliers.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/stats.h"

namespace cb {
namespace {

constexpr size_t kMinPeers = 8;
constexpr double kFarOut = 3.5;
constexpr double kDiscoveryRate = 0.01;
constexpr double kSpreadFloor = 0.005;
constexpr double kNormalQuartile = 0.6745;  // the 0.75 quantile of the standard normal distribution

void add_group(std::vector<Outlier>& out, const MetricGroup& group) {
  if (group.values.size() < kMinPeers) return;
  std::vector<double> medians;
  for (const MeasuredValue& v : group.values) medians.push_back(v.summary.median);
  const double spread =
      std::max(median_absolute_deviation(medians), kSpreadFloor * std::abs(group.typical));
  if (spread <= 0) return;
  const double sign = group.better == Better::higher ? 1 : -1;
  for (size_t i = 0; i < medians.size(); ++i) {
    const double behind = sign * (group.typical - medians[i]);
    out.push_back({.group = &group,
                   .value = i,
                   .z = kNormalQuartile * behind / spread,
                   .behind = group.typical == 0 ? 0 : behind / std::abs(group.typical)});
  }
}

}  // namespace

std::vector<double> adjusted_for_discovery(const std::vector<double>& p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, [&](size_t a, size_t b) { return p[a] > p[b]; });
  std::vector<double> out(p.size());
  double least = 1;
  for (size_t i = 0; i < order.size(); ++i) {  // begins with the largest p, which has rank m
    const auto rank = static_cast<double>(p.size() - i);
    least = std::min(least, p[order[i]] * static_cast<double>(p.size()) / rank);
    out[order[i]] = least;
  }
  return out;
}

std::vector<Outlier> find_outliers(const std::vector<MetricGroup>& groups) {
  std::vector<Outlier> all;
  for (const MetricGroup& group : groups) add_group(all, group);
  std::vector<double> p;
  for (const Outlier& o : all) p.push_back(0.5 * std::erfc(o.z / std::sqrt(2.0)));
  const std::vector<double> q = adjusted_for_discovery(p);
  std::vector<Outlier> out;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].z <= kFarOut || q[i] > kDiscoveryRate) continue;
    out.push_back(all[i]);
    out.back().q = q[i];
  }
  std::ranges::stable_sort(out, std::greater<>(), &Outlier::z);
  return out;
}

}  // namespace cb
