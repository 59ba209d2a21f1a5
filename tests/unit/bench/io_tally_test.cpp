#include "bench/io/tally.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
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
  for (int i = 0; i < 50000; ++i) series.add((i + 0.5) * 1e-4, 4096);
  const auto rates = series.rates(5);
  CHECK(rates.interval_seconds == doctest::Approx(0.1));
  CHECK(rates.io_per_second.count() == 50);
  CHECK(rates.io_per_second.summary().min == doctest::Approx(10000));
  CHECK(rates.io_per_second.summary().max == doctest::Approx(10000));
  CHECK(rates.bytes_per_second.summary().median == doctest::Approx(40.96e6));
}

TEST_CASE("an idle stretch shows as intervals of zero, it is not left out") {
  RateSeries series;
  for (int i = 0; i < 20000; ++i) {
    const double at = (i + 0.5) * 1e-4;
    if (at < 0.8 || at > 1.2) series.add(at, 512);
  }
  CHECK(series.rates(2).io_per_second.summary().min == 0);
}

TEST_CASE("slow devices get longer intervals, short runs shorter ones, the shortest one sample") {
  RateSeries slow;  // 10 requests a second for 60 s: 32 requests need 3.2 s
  for (int i = 0; i < 600; ++i) slow.add(i * 0.1 + 0.05, 1 << 20);
  CHECK(slow.rates(60).interval_seconds == doctest::Approx(3.2).epsilon(0.02));
  CHECK(slow.rates(60).io_per_second.summary().median == doctest::Approx(10).epsilon(0.05));

  RateSeries brief;
  for (int i = 0; i < 1000; ++i) brief.add((i + 0.5) * 6e-5, 512);
  CHECK(brief.rates(0.06).io_per_second.count() == 6);

  RateSeries flash;
  flash.add(0.0005, 512);
  flash.add(0.0015, 512);
  const auto rates = flash.rates(0.002);
  REQUIRE(rates.bytes_per_second.count() == 1);
  CHECK(rates.bytes_per_second.summary().median == doctest::Approx(512000));

  CHECK(RateSeries().rates(1).io_per_second.empty());
}

TEST_CASE("a long run widens its slices and loses nothing; merging is adding") {
  RateSeries all, even, odd;
  for (int i = 0; i < 40000; ++i) {  // 40 s: beyond the 8.192 s that slices of 1 ms hold
    const double at = (i + 0.5) * 1e-3;
    all.add(at, 100);
    (i % 2 == 0 ? even : odd).add(at, 100);
  }
  RateSeries merged;
  merged.add(0.0005, 0);  // still narrow: has to widen to take the others in
  merged.merge(even);
  merged.merge(odd);
  CHECK(all.rates(40).bytes_per_second.summary().mean == doctest::Approx(100000).epsilon(0.01));
  CHECK(merged.rates(40).bytes_per_second.summary().mean ==
        doctest::Approx(all.rates(40).bytes_per_second.summary().mean));
}
