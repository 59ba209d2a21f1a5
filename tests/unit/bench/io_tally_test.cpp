#include "bench/storage/io/tally.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "core/stats.h"

using namespace cb;
using namespace cb::io;

TEST_CASE("latency percentiles are within 1 per cent of the exact ones, the maximum is exact") {
  std::mt19937_64 random(5);
  std::lognormal_distribution<double> latency(std::log(80e-6), 1.5);  // 80 µs and a long tail
  Tally tally;
  std::vector<double> exact;
  for (int i = 0; i < 100000; ++i) {
    const double seconds = latency(random);
    exact.push_back(seconds);
    tally.add(seconds, 0.01, 4096);
  }
  exact.push_back(97.5);  // one request that hung
  tally.add(97.5, 0.01, 4096);
  std::sort(exact.begin(), exact.end());
  for (const double q : {0.0, 0.5, 0.9, 0.99, 0.999, 0.9999}) {
    CAPTURE(q);
    const double truth = quantile_of_sorted(exact, q);
    CHECK(std::abs(tally.latency.quantile(q) / truth - 1) < 0.01);
  }
  CHECK(tally.latency.max() == 97.5);
  CHECK(tally.ios == 100001);
  CHECK(tally.bytes == 100001ULL * 4096);
}

TEST_CASE("a steady run of 5 s gives 50 intervals of 100 ms with the exact rate") {
  RateSeries series;
  for (int i = 0; i < 50000; ++i) series.add((i + 0.5) * 1e-4, 4096, 1e-4);
  const auto intervals = series.intervals(5);
  CHECK(intervals.seconds == doctest::Approx(0.1));
  REQUIRE(intervals.bytes_per_second.size() == 50);
  for (const double rate : intervals.bytes_per_second) CHECK(rate == doctest::Approx(40.96e6));
}

TEST_CASE("an idle stretch shows as intervals of zero, it is not left out") {
  RateSeries series;
  for (int i = 0; i < 20000; ++i) {
    const double at = (i + 0.5) * 1e-4;
    if (at < 0.8 || at > 1.2) series.add(at, 512, 1e-4);
  }
  const auto rates = series.intervals(2).bytes_per_second;
  CHECK(*std::min_element(rates.begin(), rates.end()) == 0);
}

TEST_CASE("slow devices get longer intervals, short runs shorter ones, the shortest none") {
  RateSeries slow;  // 10 requests a second for 60 s: 32 requests need 3.2 s
  for (int i = 0; i < 600; ++i) slow.add(i * 0.1 + 0.05, 1 << 20, 1e-4);
  CHECK(slow.intervals(60).seconds == doctest::Approx(3.2).epsilon(0.02));
  for (const double rate : slow.intervals(60).bytes_per_second)
    CHECK(rate == doctest::Approx(10 * (1 << 20)).epsilon(0.05));

  RateSeries brief;
  for (int i = 0; i < 1000; ++i) brief.add((i + 0.5) * 6e-5, 512, 1e-4);
  CHECK(brief.intervals(0.06).bytes_per_second.size() == 6);

  RateSeries flash;
  flash.add(0.0005, 512, 1e-4);
  flash.add(0.0015, 512, 1e-4);
  CHECK(flash.intervals(0.002).bytes_per_second.empty());
  CHECK(RateSeries().intervals(1).bytes_per_second.empty());
}

TEST_CASE("a long run widens its slices and loses nothing; merging is adding") {
  RateSeries all, even, odd;
  for (int i = 0; i < 40000; ++i) {  // 40 s: beyond the 8.192 s that slices of 1 ms hold
    const double at = (i + 0.5) * 1e-3;
    all.add(at, 100, 1e-4);
    (i % 2 == 0 ? even : odd).add(at, 100, 1e-4);
  }
  RateSeries merged;
  merged.add(0.0005, 0, 1e-4);  // still narrow: has to widen to take the others in
  merged.merge(even);
  merged.merge(odd);
  const auto one = all.intervals(40).bytes_per_second, two = merged.intervals(40).bytes_per_second;
  const double sum = std::accumulate(one.begin(), one.end(), 0.0);
  CHECK(sum / static_cast<double>(one.size()) == doctest::Approx(100000).epsilon(0.01));
  CHECK(std::accumulate(two.begin(), two.end(), 0.0) == doctest::Approx(sum).epsilon(0.01));
}

TEST_CASE("latency over time: sum and largest of each interval") {
  RateSeries series;
  for (int i = 0; i < 10000; ++i) series.add((i + 0.5) * 1e-4, 4096, i == 5500 ? 0.5 : 1e-4);
  const auto intervals = series.intervals(1);
  REQUIRE(intervals.latency_max.size() == 10);
  CHECK(intervals.ios[3] == 1000);
  CHECK(intervals.latency_sum[3] == doctest::Approx(0.1));
  CHECK(intervals.latency_max[3] == 1e-4);
  CHECK(intervals.latency_max[5] == 0.5);
  CHECK(intervals.latency_sum[5] == doctest::Approx(0.0999 + 0.5));
}

TEST_CASE("bytes until a moment: whole slices, and a share of the one it falls into") {
  RateSeries series;
  for (int i = 0; i < 10; ++i) series.add((i + 0.5) * 1e-3, 100, 1e-4);
  CHECK(series.bytes_until(0) == 0);
  CHECK(series.bytes_until(3e-3) == doctest::Approx(300));
  CHECK(series.bytes_until(3.5e-3) == doctest::Approx(350));
  CHECK(series.bytes_until(1) == doctest::Approx(1000));
}
