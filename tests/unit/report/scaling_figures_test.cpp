// How the report shows training by groups of growing size.
#include <doctest/doctest.h>

#include "report/scaling_figures.h"
#include "tests/unit/report/one_step.h"

using namespace cb;

namespace {

// A level of so many groups of so many ranks; `efficiencies` of the groups, or of none.
Record level_record(const char* kind, int groups, int ranks, std::vector<double> efficiencies) {
  Record out{.case_name = "train"};
  out.params.set("scaling", std::string(kind));
  for (int group = 0; group < groups; ++group) {
    const size_t whole = out.entity({"n" + std::to_string(group), "host", ""});
    out.add("tokens_per_second", whole, {1000.0});
    if (!efficiencies.empty())
      out.add("scaling_efficiency", whole, {efficiencies.at(static_cast<size_t>(group))});
    for (int rank = 0; rank < ranks; ++rank)
      out.add("forward_seconds",
              out.entity({"n" + std::to_string(group), "rank", std::to_string(rank)}), {0.1});
  }
  return out;
}

std::vector<Figure> figures_of_levels(std::vector<Record> records) {
  return of_infer_step(std::move(records), scaling_figures);
}

bool shows(const Figure& figure, const char* words) {
  return figure.caption.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("efficiency stands over the ranks of a group, beside the ideal") {
  const auto figures =
      figures_of_levels({level_record("weak", 8, 1, {}), level_record("weak", 2, 4, {0.98, 0.90}),
                         level_record("weak", 1, 8, {0.85})});
  REQUIRE(figures.size() == 1);
  CHECK(figures[0].title == "step: weak scaling, the same tokens for each rank");
  const auto& chart = std::get<CurveChart>(figures[0].chart);
  CHECK(chart.worst == std::vector<Point>{{1, 1}, {4, 0.90}, {8, 0.85}});
  CHECK(chart.typical == std::vector<Point>{{1, 1}, {4, 0.94}, {8, 0.85}});
  CHECK(chart.ceiling == std::vector<Point>{{1, 1}, {4, 1}, {8, 1}});
  CHECK(shows(figures[0], "1 rank(s): what the others are compared with."));
  CHECK(shows(figures[0], "4 ranks: 90.0 % in the worst group (n1), 94.0 % in the median one."));
  CHECK(shows(figures[0], "8 ranks: 85.0 %."));
}

TEST_CASE("each kind of scaling has a figure of its own") {
  const auto figures =
      figures_of_levels({level_record("weak", 2, 1, {}), level_record("weak", 1, 2, {0.9}),
                         level_record("strong", 2, 1, {}), level_record("strong", 1, 2, {0.7})});
  REQUIRE(figures.size() == 2);
  CHECK(figures[1].title == "step: strong scaling, the same tokens in each step");
  CHECK(std::get<CurveChart>(figures[1].chart).worst.back()[1] == 0.7);
}

TEST_CASE("a level that is not compared is no point, and without any there is no figure") {
  // Ranks that share cores: no efficiency.
  CHECK(
      figures_of_levels({level_record("weak", 2, 1, {}), level_record("weak", 1, 2, {})}).empty());
  // The smallest level has no numbers.
  Record failed{.case_name = "train"};
  failed.params.set("scaling", std::string("weak"));
  CHECK(figures_of_levels({failed, level_record("weak", 1, 2, {})}).empty());
  // Training with all ranks alone.
  CHECK(figures_of_levels({Record{.case_name = "train"}}).empty());
}

TEST_CASE("of several jobs of a step the worst level is shown, which the figure says") {
  const auto figures =
      figures_of_levels({level_record("weak", 2, 1, {}), level_record("weak", 1, 2, {0.9}),
                         level_record("weak", 2, 1, {}), level_record("weak", 1, 2, {0.8}),
                         level_record("weak", 1, 2, {}), level_record("weak", 1, 2, {0.95})});
  REQUIRE(figures.size() == 1);
  CHECK(std::get<CurveChart>(figures[0].chart).worst.back()[1] == 0.8);
  CHECK(shows(figures[0], "2 ranks: 80.0 %. The worst of 3 measurements is shown."));
}

TEST_CASE("hosts of two and of three ranks stand at their mean") {
  Record hosts = level_record("weak", 2, 2, {0.9, 0.8});
  hosts.add("forward_seconds", hosts.entity({"n1", "rank", "2"}), {0.1});
  const auto figures = figures_of_levels({level_record("weak", 5, 1, {}), hosts});
  REQUIRE(figures.size() == 1);
  CHECK(std::get<CurveChart>(figures[0].chart).worst.back() == Point{2.5, 0.8});
  CHECK(shows(figures[0], "2.5 ranks: 80.0 % in the worst group (n1)"));
}
