#include "model/schedule.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/unit/timing.h"

using namespace cb;

namespace {

// Sanitizers cost a factor; the promise is about the shipped binary.
#ifdef CB_SANITIZED
constexpr double kSchedulingLimitSeconds = 0.2;
#else
constexpr double kSchedulingLimitSeconds = 0.010;
#endif

HostPair ordered(HostPair p) { return p.from < p.to ? p : HostPair{p.to, p.from}; }

// True the first time only, for each number from 0 up to the size.
class Seen {
 public:
  explicit Seen(int size) : seen_(static_cast<size_t>(size)) {}
  bool first(int number) {
    return std::exchange(seen_.at(static_cast<size_t>(number)), char{1}) == 0;
  }
  long count() const { return std::count(seen_.begin(), seen_.end(), char{1}); }

 private:
  std::vector<char> seen_;
};

bool disjoint(const Round& round, int n) {
  Seen seen(n);
  for (const HostPair& p : round) {
    if (!seen.first(p.from) || !seen.first(p.to)) return false;
  }
  return true;
}

bool within(const Round& round, int n) {
  for (const HostPair& p : round) {
    if (p.from < 0 || p.to < 0 || p.from >= n || p.to >= n || p.from == p.to) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("a tournament meets every pair once, disjoint in every round, for 2 to 257 hosts") {
  for (int n = 2; n <= 257; ++n) {
    CAPTURE(n);
    const auto rounds = tournament(n);
    CHECK(static_cast<int>(rounds.size()) == n - 1 + n % 2);
    Seen met(n * n);
    bool sound = true;
    for (const Round& r : rounds) {
      sound = sound && within(r, n) && disjoint(r, n);
      for (const HostPair& p : r) sound = sound && met.first(ordered(p).from * n + ordered(p).to);
    }
    CHECK(sound);
    CHECK(met.count() == n * (n - 1) / 2);
  }
}

TEST_CASE("shift holds every directed pair once, each host sending and receiving once a round") {
  for (int n = 2; n <= 257; ++n) {
    CAPTURE(n);
    Seen met(n * n);
    bool sound = true;
    for (const Round& r : shift(n)) {
      Seen senders(n), receivers(n);
      sound = sound && within(r, n);
      for (const HostPair& p : r) {
        sound =
            sound && met.first(p.from * n + p.to) && senders.first(p.from) && receivers.first(p.to);
      }
    }
    CHECK(sound);
    CHECK(met.count() == n * (n - 1));
  }
}

TEST_CASE("random rounds are disjoint, never repeat a pair, and depend on the seed alone") {
  for (const int n : {2, 3, 16, 257}) {
    CAPTURE(n);
    std::set<HostPair> met;
    for (const Round& r : random_rounds(n, 5, 42)) {
      CHECK(disjoint(r, n));
      CHECK(within(r, n));
      CHECK(static_cast<int>(r.size()) == n / 2);
      for (const HostPair& p : r) CHECK(met.insert(ordered(p)).second);
    }
    CHECK(random_rounds(n, 5, 42) == random_rounds(n, 5, 42));
  }
  CHECK(random_rounds(16, 5, 42) != random_rounds(16, 5, 43));
  CHECK(random_rounds(4, 99, 1).size() == 3);
}

TEST_CASE("local rounds stay within the groups") {
  const std::vector<int> leaf{0, 0, 0, 1, 1, 1, 1, 2};
  const auto rounds = local_rounds(leaf, 2, 7);
  CHECK(rounds.size() == 2);
  for (const Round& r : rounds) {
    CHECK(disjoint(r, static_cast<int>(leaf.size())));
    for (const HostPair& p : r)
      CHECK(leaf[static_cast<size_t>(p.from)] == leaf[static_cast<size_t>(p.to)]);
  }
}

TEST_CASE("bisection, incast and one to many") {
  const Round cut = bisection({0, 1, 0, 1, 0, 1});
  CHECK(cut == Round{{0, 1}, {2, 3}, {4, 5}});
  CHECK(incast(4, 2) == Round{{0, 2}, {1, 2}, {3, 2}});
  CHECK(one_to_many(4, 2) == Round{{2, 0}, {2, 1}, {2, 3}});
}

TEST_CASE("a victim is measured alone, then beside the incast of all others") {
  CHECK(victim_of(4, 0) == HostPair{1, 2});
  CHECK(victim_rounds(4, 0) == std::vector<Round>{{{1, 2}}, {{2, 0}, {3, 0}, {1, 2}}});
  CHECK(victim_rounds(5, 4) == std::vector<Round>{{{0, 1}}, {{1, 4}, {2, 4}, {3, 4}, {0, 1}}});
}

TEST_CASE("disjoint rounds keep every pair") {
  const auto rounds = disjoint_rounds({{0, 1}, {0, 2}, {3, 4}, {1, 2}});
  CHECK(rounds == std::vector<Round>{{{0, 1}, {3, 4}}, {{0, 2}}, {{1, 2}}});
}

TEST_CASE("1,024 hosts are scheduled in under 10 ms") {
  const double best = test::least_busy_seconds(20, [] { CHECK(tournament(1024).size() == 1023); });
  MESSAGE("tournament of 1,024 hosts: " << best * 1e3 << " ms");
  CHECK(best < kSchedulingLimitSeconds);
}

TEST_CASE("the rounds of a seed are the same on every machine") {
  CHECK(random_rounds(5, 2, 42) == std::vector<Round>{{{0, 3}, {1, 2}}, {{1, 4}, {2, 3}}});
}
