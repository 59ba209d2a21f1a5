#include "core/histogram.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "core/error.h"
#include "core/samples.h"

using namespace cb;

namespace {

// Log-uniform over 12 decades, the same on every machine.
std::vector<double> twelve_decades(size_t n, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<double> out;
  for (size_t i = 0; i < n; ++i) {
    const double share = static_cast<double>(random() >> 11) / 9007199254740992.0;
    out.push_back(1e-9 * std::pow(10, 12 * share));
  }
  return out;
}

Histogram of(const std::vector<double>& samples) {
  Histogram h;
  for (const double s : samples) h.add(s);
  return h;
}

void check_equal(const Histogram& a, const Histogram& b) {
  CHECK(a.buckets() == b.buckets());
  CHECK(a.count() == b.count());
  CHECK(a.min() == b.min());
  CHECK(a.max() == b.max());
  CHECK(a.sum() == doctest::Approx(b.sum()).epsilon(1e-12));
}

}  // namespace

TEST_CASE("a quantile is within 0.4 % of the order statistic over 12 decades") {
  std::vector<double> samples = twelve_decades(20000, 1);
  const Histogram h = of(samples);
  std::sort(samples.begin(), samples.end());
  for (int i = 0; i <= 1000; ++i) {
    const double q = i / 1000.0;
    const auto rank = static_cast<size_t>(std::floor(q * 19999));
    CHECK(std::abs(h.quantile(q) / samples[rank] - 1) <= 0.004);
  }
  CHECK(h.quantile(0) >= h.min());
  CHECK(h.quantile(1) <= h.max());
  CHECK(h.min() == samples.front());
  CHECK(h.max() == samples.back());
}

TEST_CASE("merging equals adding everything to one") {
  const auto a = twelve_decades(3000, 2), b = twelve_decades(5000, 3);
  Histogram merged = of(a);
  merged.merge(of(b));
  std::vector<double> all = a;
  all.insert(all.end(), b.begin(), b.end());
  check_equal(merged, of(all));

  Histogram empty;
  empty.merge(of(a));
  check_equal(empty, of(a));
  Histogram unchanged = of(a);
  unchanged.merge(Histogram());
  check_equal(unchanged, of(a));
}

TEST_CASE("a summary agrees with that of the samples") {
  const auto samples = twelve_decades(4000, 4);
  const Summary exact = summarise(samples), read = of(samples).summary();
  CHECK(read.n == 4000);
  CHECK(read.min == exact.min);
  CHECK(read.max == exact.max);
  CHECK(read.mean == doctest::Approx(exact.mean));
  CHECK(*read.stdev == doctest::Approx(*exact.stdev));
  CHECK((*read.ci95)[0] == doctest::Approx((*exact.ci95)[0]).epsilon(0.004));
  CHECK((*read.ci95)[1] == doctest::Approx((*exact.ci95)[1]).epsilon(0.004));
}

TEST_CASE("zeros are zero and what is out of range is read as the extreme") {
  const Histogram zeros = of({0, 0, 0, 1});
  CHECK(zeros.quantile(0.5) == 0);
  CHECK(zeros.quantile(1) == doctest::Approx(1).epsilon(0.004));
  CHECK(of({1, 1e30, 1e30}).quantile(0.9) == 1e30);
  CHECK(of({5, 5, 5}).quantile(0.5) == 5);  // clamped to what was seen
}

TEST_CASE("what is no measurement is refused") {
  Histogram h;
  for (const double bad : {-1e-9, std::nan(""), std::numeric_limits<double>::infinity(), 1e200})
    CHECK_THROWS_AS(h.add(bad), Error);
  CHECK(h.count() == 0);
  CHECK_THROWS_AS((void)h.quantile(0.5), Error);
  h.add(1);
  CHECK_THROWS_AS((void)h.quantile(1.5), Error);
}

TEST_CASE("restoring gives the same histogram") {
  const Histogram h = of(twelve_decades(5000, 5));
  const Histogram back = Histogram::restore(h.buckets(), h.exact());
  check_equal(back, h);
  CHECK(back.exact().sum == h.exact().sum);
  CHECK(back.exact().sum_of_squares == h.exact().sum_of_squares);
  for (const double q : {0.0, 0.05, 0.5, 0.99, 1.0}) CHECK(back.quantile(q) == h.quantile(q));
  CHECK(Histogram::restore({}, {5, 1, 0, 0}).count() == 0);
}

TEST_CASE("a histogram that no samples can have is refused") {
  const Histogram h = of({1, 2, 3, 400});
  const auto buckets = h.buckets();
  const auto exact = h.exact();
  const auto refused = [&](auto change) {
    auto b = buckets;
    auto e = exact;
    change(b, e);
    CHECK_THROWS_AS(Histogram::restore(b, e), Error);
  };
  CHECK_NOTHROW(Histogram::restore(buckets, exact));
  refused([](auto& b, auto&) { b.back().first = 104 * 128; });       // out of range
  refused([](auto& b, auto&) { std::swap(b[0], b[1]); });            // not ascending
  refused([](auto& b, auto&) { b[1] = b[0]; });                      // twice
  refused([](auto& b, auto&) { b[1].second = 0; });                  // empty bucket
  refused([](auto& b, auto&) { b[1].second = uint64_t{1} << 63; });  // too many
  refused([](auto&, auto& e) { e.min = 2; });                        // not in its bucket
  refused([](auto&, auto& e) { e.max = 1e6; });
  refused([](auto&, auto& e) { std::swap(e.min, e.max); });
  refused([](auto&, auto& e) { e.sum = 2000; });          // above n × max
  refused([](auto&, auto& e) { e.sum = 3; });             // below n × min
  refused([](auto&, auto& e) { e.sum_of_squares = 1; });  // below sum² / n
  refused([](auto&, auto& e) { e.sum = std::nan(""); });
  constexpr double endless = std::numeric_limits<double>::infinity();
  refused([](auto& b, auto& e) {  // in the last bucket, with one of the sums endless
    b = {{104 * 128 - 1, 1}};
    e = {1e30, endless, 2e30, endless};
  });
  refused([](auto& b, auto& e) {
    b = {{104 * 128 - 1, 1}};
    e = {1e30, endless, endless, endless};
  });
}

TEST_CASE("samples are kept up to the bound, and counted beyond it") {
  Samples s(8);
  for (int i = 1; i <= 8; ++i) s.add(i);
  CHECK(s.histogram() == nullptr);
  CHECK(s.summary().median == 4.5);
  s.add(9);
  REQUIRE(s.histogram() != nullptr);
  CHECK(s.count() == 9);
  CHECK(s.list().empty());  // a list of some of them would be taken for all
  CHECK(s.histogram()->max() == 9);
  CHECK(s.summary().median == doctest::Approx(5).epsilon(0.004));
  CHECK(Samples::kDefaultBound == 2048);
}

TEST_CASE("a wrong number never enters") {
  Samples s;
  CHECK_THROWS_AS(s.add(std::nan("")), Error);
  CHECK_THROWS_AS(s.add(-std::numeric_limits<double>::infinity()), Error);
  CHECK_THROWS_AS(s.add(-1e101), Error);
  CHECK(s.empty());
  s.add(-5);  // a difference may be negative
  CHECK(s.summary().min == -5);
  CHECK_THROWS_AS(Samples().summary(), Error);
  Samples full(1);
  full.add(-1);
  CHECK_THROWS_AS(full.add(1), Error);  // beyond the bound a histogram would lose it
}

TEST_CASE("a figure is mapped from all samples, also beyond the bound") {
  // 2,048 samples of 1 s, then 952 of 2 s: the list alone would say that nothing ever took 2 s.
  Samples seconds;
  for (int i = 0; i < 3000; ++i) seconds.add(i < 2048 ? 1.0 : 2.0);
  REQUIRE(seconds.histogram() != nullptr);
  const Summary rates = seconds.mapped([](double s) { return 10 / s; }).summary();
  CHECK(rates.n == 3000);
  CHECK(rates.min == 5);
  CHECK(rates.max == 10);
  CHECK(rates.median == doctest::Approx(10).epsilon(0.01));
  CHECK(rates.p05 == doctest::Approx(5).epsilon(0.01));
  CHECK(rates.mean == doctest::Approx((2048 * 10 + 952 * 5) / 3000.0).epsilon(0.01));
}

TEST_CASE("a share has the exact mean of what it is a share of") {
  Samples watts(100);
  for (int i = 0; i < 3000; ++i) watts.add(300 + i * 0.1);
  const Summary of = watts.summary();
  const Summary shares = watts.mapped([](double w) { return w / 700; }).summary();
  CHECK(shares.mean == doctest::Approx(of.mean / 700).epsilon(1e-12));
  CHECK(shares.min == of.min / 700);
  CHECK(shares.max == of.max / 700);
  CHECK(shares.p95 == doctest::Approx(of.p95 / 700).epsilon(0.01));
}

TEST_CASE("a mapped histogram is one that a document may hold") {
  for (const int n : {9, 10, 100, 3000}) {
    Samples samples(8);
    for (int i = 1; i <= n; ++i) samples.add(std::pow(1.01, i % 700) * 1e-3);
    for (const double factor : {1e-9, 1.0, 3e14}) {
      for (const bool inverse : {false, true}) {
        const Samples out =
            samples.mapped([&](double v) { return inverse ? factor / v : factor * v; });
        const Histogram* h = out.histogram();
        REQUIRE(h != nullptr);
        CHECK(h->count() == static_cast<uint64_t>(n));
        CHECK_NOTHROW(Histogram::restore(h->buckets(), h->exact()));
      }
    }
  }
}

TEST_CASE("a list is mapped one by one, and no wrong number comes out of it") {
  const Samples seconds{4, 1, 2};
  const Samples rates = seconds.mapped([](double s) { return 8 / s; });
  CHECK(std::vector<double>(rates.list().begin(), rates.list().end()) ==
        std::vector<double>{2, 8, 4});
  CHECK_THROWS_AS(Samples{0.0}.mapped([](double s) { return 1 / s; }), Error);
}

TEST_CASE(
    "the numbers of the buckets, which documents hold: 128 to each power of two from 2^-40 on") {
  const auto bucket = [](double value) { return of({value}).buckets().at(0).first; };
  CHECK(bucket(1) == 40 * 128);
  CHECK(bucket(1.5) == 40 * 128 + 64);
  CHECK(bucket(2) == 41 * 128);
  CHECK(bucket(std::nextafter(2, 0)) == 41 * 128 - 1);
  CHECK(bucket(0) == 0);
  CHECK(bucket(std::ldexp(1, -41)) == 0);
  CHECK(bucket(std::ldexp(1, -40)) == 0);
  CHECK(bucket(std::ldexp(1.01, -40)) == 1);
  CHECK(bucket(std::ldexp(1.995, 63)) == 104 * 128 - 1);
  CHECK(bucket(1e30) == 104 * 128 - 1);
  CHECK(Histogram::bucket_middle(40 * 128) == 1 + 1 / 256.0);
  Histogram grown = of({4, 1, 2, 1});
  for (int i = 0; i < 2; ++i) grown.add(3);
  CHECK(grown.buckets() == Histogram::Buckets{{5120, 2}, {5248, 1}, {5312, 2}, {5376, 1}});
  CHECK(grown.sum() == 14);
  CHECK(grown.exact().sum_of_squares == 40);
}

TEST_CASE("ranks: a quantile is the sample of its place, the summary's interval too") {
  Histogram h;
  for (int i = 0; i < 4; ++i) h.add(std::ldexp(1, i));  // 1 2 4 8
  CHECK(h.quantile(0) == doctest::Approx(1).epsilon(0.004));
  CHECK(h.quantile(0.33) == doctest::Approx(1).epsilon(0.004));
  CHECK(h.quantile(0.34) == doctest::Approx(2).epsilon(0.004));
  CHECK(h.quantile(0.66) == doctest::Approx(2).epsilon(0.004));
  CHECK(h.quantile(0.67) == doctest::Approx(4).epsilon(0.004));
  CHECK(h.quantile(1) == 8);
  CHECK_FALSE(h.summary().ci95);
  CHECK(*h.summary().stdev == doctest::Approx(3.0957).epsilon(1e-4));
  CHECK_FALSE(of({3}).summary().stdev);
}
