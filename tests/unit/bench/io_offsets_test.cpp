#include "bench/storage/io/offsets.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace cb;
using namespace cb::io;

namespace {

// How often each block is touched by one pass of all threads; every request is checked for shape.
std::vector<int> touched(const Job& job) {
  std::vector<int> count(job.blocks());
  for (unsigned t = 0; t < job.threads; ++t) {
    OpSource source(job, t);
    for (uint64_t i = 0; i < source.blocks(); ++i) {
      const auto op = source.next();
      REQUIRE(op);
      REQUIRE(op->offset % job.block_bytes == 0);
      REQUIRE(op->offset + op->length <= job.file_bytes);
      ++count[op->offset / job.block_bytes];
    }
  }
  return count;
}

bool each_once(const std::vector<int>& count) {
  return std::all_of(count.begin(), count.end(), [](int n) { return n == 1; });
}

}  // namespace

TEST_CASE("a permutation is a bijection for any count") {
  for (const uint64_t count : {1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 1000, 4096, 65537}) {
    const Permutation order(count, 42);
    std::vector<int> seen(count);
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t at = order(i);
      REQUIRE(at < count);
      ++seen[at];
    }
    CHECK(each_once(seen));
  }
}

TEST_CASE("both orders and any number of threads touch each block exactly once a pass") {
  for (const Order order : {Order::sequential, Order::random}) {
    for (const unsigned threads : {1u, 2u, 3u, 7u}) {
      for (const uint64_t blocks : {7, 64, 1001}) {
        const Job job{
            .order = order, .block_bytes = 4096, .file_bytes = blocks * 4096, .threads = threads};
        CAPTURE(threads);
        CAPTURE(blocks);
        CHECK(each_once(touched(job)));
      }
    }
  }
}

TEST_CASE("a job bounded by size ends after one pass, one bounded by time goes on") {
  Job job{.order = Order::random, .block_bytes = 512, .file_bytes = 10 * 512};
  OpSource once(job, 0);
  for (int i = 0; i < 10; ++i) CHECK(once.next());
  CHECK_FALSE(once.next());
  CHECK(once.issued() == 10);

  job.seconds = 1;
  OpSource forever(job, 0);
  std::vector<uint64_t> first, second;
  for (int i = 0; i < 10; ++i) first.push_back(forever.next()->offset);
  for (int i = 0; i < 10; ++i) second.push_back(forever.next()->offset);
  CHECK(first != second);  // another order in the next pass …
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  CHECK(first == second);  // … of the same blocks
}

TEST_CASE("sequential is ascending, random is neither ascending nor the same for another seed") {
  Job job{.order = Order::sequential, .block_bytes = 4096, .file_bytes = 1000 * 4096};
  const auto offsets = [&](uint64_t seed) {
    job.seed = seed;
    OpSource source(job, 0);
    std::vector<uint64_t> out;
    while (const auto op = source.next()) out.push_back(op->offset);
    return out;
  };
  const auto sequential = offsets(1);
  CHECK(std::is_sorted(sequential.begin(), sequential.end()));

  job.order = Order::random;
  const auto one = offsets(1), again = offsets(1), two = offsets(2);
  CHECK(one == again);
  CHECK(one != two);
  // Of a random order about half of the steps go up: 999 steps, five standard deviations of 15.8.
  int up = 0;
  for (size_t i = 1; i < one.size(); ++i) up += one[i] > one[i - 1] ? 1 : 0;
  CHECK(up > 420);
  CHECK(up < 580);
}

TEST_CASE("the share of reads in a mixed job is the one asked for") {
  const Job job{
      .order = Order::random, .read_percent = 70, .block_bytes = 512, .file_bytes = 20000 * 512};
  OpSource source(job, 0);
  int reads = 0;
  while (const auto op = source.next()) reads += op->direction == Direction::read ? 1 : 0;
  // Binomial: 14000 ± 65; five standard deviations.
  CHECK(reads > 13675);
  CHECK(reads < 14325);
}

TEST_CASE("the last block of a file that is no multiple of the block is short") {
  const Job job{.order = Order::sequential, .block_bytes = 1000, .file_bytes = 2500};
  OpSource source(job, 0);
  CHECK(source.next()->length == 1000);
  CHECK(source.next()->length == 1000);
  CHECK(source.next()->length == 500);
  CHECK_FALSE(source.next());
}

TEST_CASE("zipf: the first ranks have the shares of the law, all ranks are in range") {
  constexpr uint64_t kCount = 1000;
  for (const double theta : {0.8, 1.0, 1.2}) {
    CAPTURE(theta);
    const Zipf zipf(kCount, theta);
    std::vector<double> share(kCount);
    constexpr int kDraws = 200000;
    for (int i = 0; i < kDraws; ++i) {
      const uint64_t rank = zipf((i + 0.5) / kDraws);
      REQUIRE(rank < kCount);
      share[rank] += 1.0 / kDraws;
    }
    // The share of ranks 1 to k of the continuous law: integral 1..k+1 over integral 1..n+1.
    const auto area = [&](double n) {
      return theta == 1 ? std::log(n + 1) : (std::pow(n + 1, 1 - theta) - 1) / (1 - theta);
    };
    CHECK(share[0] == doctest::Approx(area(1) / area(kCount)).epsilon(0.01));
    CHECK(share[0] + share[1] == doctest::Approx(area(2) / area(kCount)).epsilon(0.01));
    CHECK(share[0] > 4 * share[9]);
  }
}
