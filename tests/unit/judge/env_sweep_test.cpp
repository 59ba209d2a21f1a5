#include "judge/env_sweep.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <random>

#include <doctest/doctest.h>

using namespace cb;

namespace {

Record sweep_record(int64_t size, const std::string& metric,
                    std::initializer_list<double> samples) {
  Record out{.case_name = "x"};
  out.params.set("size", size);
  for (const double median : samples) {
    const size_t entity = out.entity({"h", "rank", std::to_string(out.entities.size())});
    out.metrics.push_back(
        {.name = metric,
         .unit = "bytes_per_second",
         .entity = entity,
         .samples = {median * 0.99, median, median, median, median, median * 1.01}});
  }
  return out;
}

const MetricDef kRate{"rate", "bytes_per_second", Better::higher, ""};

// A sweep as its jobs would give it: combination c is `gain[c]` times as fast, a job's speed
// scatters by `noise[c]` (of its logarithm), a block's by ten times that of the first.
struct MadeUp {
  std::vector<double> gain, noise;
  size_t blocks = 5, points = 4;
  double drift = 10;
};

class MadeUpSweep {
 public:
  MadeUpSweep(const MadeUp& made, uint64_t seed) : random_(seed) {
    for (size_t block = 0; block < made.blocks; ++block) {
      const double speed = std::exp(made.drift * made.noise[0] * normal());
      for (size_t c = 0; c < made.gain.size(); ++c) add(made, c, block, false, speed);
      add(made, 0, block, true, speed);
    }
  }
  std::vector<SweepPoint> points() const { return rank_sweep(runs_, kRate); }
  std::vector<SweepRun> runs() const { return runs_; }

 private:
  // Box & Muller (1958): the same numbers with every standard library.
  double normal() {
    const auto uniform = [&] { return (static_cast<double>(random_() >> 11) + 0.5) * 0x1p-53; };
    const double length = std::sqrt(-2 * std::log(uniform()));
    return length * std::cos(6.283185307179586 * uniform());
  }

  void add(const MadeUp& made, size_t c, size_t block, bool control, double speed) {
    Document document;
    for (size_t p = 0; p < made.points; ++p) {
      const double figure = 100 * made.gain[c] * speed * std::exp(made.noise[c] * normal());
      document.records.push_back(sweep_record(int64_t{1} << p, "rate", {figure}));
    }
    documents_.push_back(std::move(document));
    runs_.push_back({c, block, control, &documents_.back()});
  }

  std::mt19937_64 random_;
  std::deque<Document> documents_;
  std::vector<SweepRun> runs_;
};

constexpr int kSweeps = 200;

bool names_a_winner(const std::vector<SweepPoint>& points) {
  return std::ranges::any_of(points,
                             [](const SweepPoint& p) { return p.verdict == SweepVerdict::best; });
}

int sweeps_with_a_winner(const MadeUp& made) {
  int out = 0;
  for (uint64_t seed = 1; seed <= kSweeps; ++seed)
    out += names_a_winner(MadeUpSweep(made, seed).points()) ? 1 : 0;
  return out;
}

}  // namespace

TEST_CASE("The best combination of each size, the worst entity counting") {
  Document first, second, third;
  first.records = {sweep_record(1, "rate", {10, 4}), sweep_record(2, "rate", {10, 10})};
  second.records = {sweep_record(1, "rate", {5, 6}), sweep_record(2, "rate", {1, 1})};
  third.records = {sweep_record(2, "rate", {20})};
  const std::vector<SweepRun> runs{
      {0, 0, false, &first}, {1, 0, false, &second}, {2, 0, false, nullptr}, {3, 0, false, &third}};
  const auto points = rank_sweep(runs, kRate);
  REQUIRE(points.size() == 2);
  CHECK(points[0].params.integer("size") == 1);
  REQUIRE(points[0].ranked.size() == 2);
  CHECK(points[0].ranked[0].combination == 1);
  CHECK(points[0].ranked[0].median == 5);
  CHECK(points[0].ranked[1].median == 4);
  CHECK(points[0].verdict == SweepVerdict::too_few);  // one block shows no spread
  REQUIRE(points[1].ranked.size() == 3);
  CHECK(points[1].ranked[0].combination == 3);
  CHECK(points[1].ranked[2].combination == 1);

  const MetricDef time{"rate", "seconds", Better::lower, ""};
  const auto fastest = rank_sweep(runs, time);
  CHECK(fastest[0].ranked[0].combination == 1);  // its worst is 6, the other's 10
  CHECK(fastest[0].ranked[0].median == 6);
}

TEST_CASE("200 sweeps of one setting under three names: at most 5 % name a winner") {
  const int winners = sweeps_with_a_winner({.gain = {1, 1, 1}, .noise = {0.03, 0.03, 0.03}});
  MESSAGE("false winners: " << winners << " of " << kSweeps);
  CHECK(winners <= kSweeps / 20);
}

TEST_CASE("nor do they where one combination scatters ten times as much, nor do two or six") {
  CHECK(sweeps_with_a_winner({.gain = {1, 1, 1}, .noise = {0.01, 0.01, 0.1}}) <= kSweeps / 20);
  CHECK(sweeps_with_a_winner({.gain = {1, 1}, .noise = {0.03, 0.03}}) <= kSweeps / 20);
  CHECK(sweeps_with_a_winner({.gain = {1, 1, 1, 1, 1, 1}, .noise = std::vector<double>(6, 0.02)}) <=
        kSweeps / 20);
}

TEST_CASE("a true winner by 10 % is found, whatever the machine's own drift") {
  int found = 0;
  for (uint64_t seed = 1; seed <= kSweeps; ++seed) {
    const auto points =
        MadeUpSweep({.gain = {1, 1.1, 1}, .noise = {0.02, 0.02, 0.02}}, seed).points();
    found += std::ranges::all_of(points, [](const SweepPoint& p) {
      return p.verdict == SweepVerdict::best && p.ranked[0].combination == 1;
    });
  }
  MESSAGE("found at all four points: " << found << " of " << kSweeps);
  CHECK(found >= kSweeps * 9 / 10);
}

TEST_CASE("what is as good as another one is no winner, though a third is far behind") {
  const MadeUpSweep sweep({.gain = {1, 1, 0.5}, .noise = {0.02, 0.02, 0.02}}, 7);
  for (const SweepPoint& p : sweep.points()) {
    CHECK(p.verdict == SweepVerdict::no_difference);
    CHECK(p.ranked[2].combination == 2);
    CHECK(p.ranked[2].p < 0.001);
  }
}

TEST_CASE("the smallest difference that so many jobs can show shrinks with them") {
  const auto smallest = [](size_t blocks) {
    return MadeUpSweep({.gain = {1, 1, 1}, .noise = {0.03, 0.03, 0.03}, .blocks = blocks}, 3)
        .points()[0]
        .smallest.value();
  };
  CHECK(smallest(3) > smallest(10));
  CHECK(smallest(10) > smallest(40));
  // t(0.0125, df 27) × √2 × 0.03 / √10, about.
  CHECK(smallest(10) > 0.015);
  CHECK(smallest(10) < 0.06);
}

TEST_CASE("a control that differs from itself by more than the best leads names no winner") {
  std::deque<Document> documents;
  std::vector<SweepRun> runs;
  const auto add = [&](size_t c, size_t block, bool control, double figure) {
    documents.emplace_back();
    documents.back().records = {sweep_record(1, "rate", {figure})};
    runs.push_back({c, block, control, &documents.back()});
  };
  const auto sweep = [&](double control) {
    runs.clear();
    for (size_t block = 0; block < 5; ++block) {
      add(0, block, false, 100);
      add(1, block, false, 110);
      add(0, block, true, control);
    }
    return rank_sweep(runs, kRate).at(0);
  };
  CHECK(sweep(109).verdict == SweepVerdict::best);
  CHECK(sweep(109).control.value() == doctest::Approx(0.09));
  CHECK(sweep(111).verdict == SweepVerdict::no_difference);
  CHECK(sweep(90).verdict == SweepVerdict::no_difference);
}

TEST_CASE("equal figures are no difference; figures that are not above 0 cannot be compared") {
  CHECK(MadeUpSweep({.gain = {1, 1}, .noise = {0, 0}}, 1).points()[0].verdict ==
        SweepVerdict::no_difference);
  CHECK(MadeUpSweep({.gain = {1, 0}, .noise = {0.01, 0.01}}, 1).points()[0].verdict ==
        SweepVerdict::too_few);
  CHECK(MadeUpSweep({.gain = {1, 2}, .noise = {0.01, 0.01}, .blocks = 1}, 1).points()[0].verdict ==
        SweepVerdict::too_few);
  CHECK(MadeUpSweep({.gain = {1}, .noise = {0.01}}, 1).points()[0].verdict ==
        SweepVerdict::too_few);
}

TEST_CASE("a block in which a combination gave nothing is left out of its comparisons") {
  const MadeUpSweep sweep({.gain = {1, 1.5}, .noise = {0.01, 0.01}}, 5);
  std::vector<SweepRun> runs = sweep.runs();
  runs[1].document = nullptr;  // combination 1 in block 0
  const auto points = rank_sweep(runs, kRate);
  CHECK(points[0].verdict == SweepVerdict::best);
  CHECK(points[0].ranked[0].combination == 1);
  CHECK(points[0].ranked[0].jobs == 4);
  CHECK(points[0].ranked[1].jobs == 5);
}

TEST_CASE("The metric to compare is the first of the case's that was measured") {
  Document document;
  document.records = {sweep_record(1, "rate", {1})};
  CaseInfo info;
  info.metrics = {{"other", "seconds", Better::lower, ""}, kRate};
  CHECK(sweep_metric(info, {{0, 0, false, &document}})->name == "rate");
  CHECK_FALSE(sweep_metric(info, {{0, 0, false, nullptr}}).has_value());
}

namespace {

// The points of sweeps whose figures are e to these logarithms, by combination and block; what each
// is at, and how many points there are.
SweepPoint of_logarithms(const std::vector<std::vector<double>>& combinations, int points = 1) {
  std::deque<Document> documents;
  std::vector<SweepRun> runs;
  for (size_t c = 0; c < combinations.size(); ++c) {
    for (size_t block = 0; block < combinations[c].size(); ++block) {
      documents.emplace_back();
      for (int p = 0; p < points; ++p)
        documents.back().records.push_back(
            sweep_record(p + 1, "rate", {std::exp(combinations[c][block])}));
      runs.push_back({c, block, false, &documents.back()});
    }
  }
  return rank_sweep(runs, kRate).at(0);
}

}  // namespace

TEST_CASE(
    "p by hand: the spread of the two where it is greater, else that of all, each with its df") {
  // Differences 0.1, 0.2, 0.3: variance 0.01, that of all 0.02 / 3; t = 0.2 / √(0.01 / 3), df 2.
  const SweepPoint own = of_logarithms({{0, 0, 0}, {0.1, 0.2, 0.3}, {0, 0, 0}});
  CHECK(own.ranked[0].combination == 1);
  CHECK(own.ranked[1].p == doctest::Approx(0.0742).epsilon(1e-3));
  CHECK(own.verdict == SweepVerdict::no_difference);
  // Without a spread of the two: t = 0.2 / √(0.02 / 9), df 4.
  const SweepPoint all = of_logarithms({{0, 0, 0}, {0.2, 0.2, 0.2}, {-0.9, -1, -1.1}});
  CHECK(all.ranked[1].p == doctest::Approx(0.01324).epsilon(1e-3));
  CHECK(all.verdict == SweepVerdict::best);
  // t(0.05, df 4) = 2.776 times √(0.02 / 9), as a share.
  CHECK(all.smallest.value() ==
        doctest::Approx(std::expm1(2.7764 * std::sqrt(0.02 / 9))).epsilon(1e-4));
}

TEST_CASE("of several points each must be sure at its share of the error") {
  const std::vector<std::vector<double>> same{{0, 0, 0}, {0.2, 0.2, 0.2}, {-0.9, -1, -1.1}};
  CHECK(of_logarithms(same, 3).verdict == SweepVerdict::best);           // 0.0132 of 0.05 / 3
  CHECK(of_logarithms(same, 4).verdict == SweepVerdict::no_difference);  // and of 0.05 / 4
}

TEST_CASE("a combination under which a job fails is not the best by those that did not") {
  const MadeUpSweep made({.gain = {1, 2}, .noise = {0.001, 0.001}, .points = 1}, 1);
  std::vector<SweepRun> runs = made.runs();
  REQUIRE(rank_sweep(runs, kRate).at(0).verdict == SweepVerdict::best);
  for (SweepRun& run : runs) {
    if (run.combination == 1 && run.block == 2) run.document = nullptr;
  }
  const std::vector<SweepPoint> points = rank_sweep(runs, kRate);
  CHECK(points.at(0).ranked.at(0).combination == 1);
  CHECK(points.at(0).verdict == SweepVerdict::jobs_missing);
}
