#include "analysis/env_sweep.h"

#include <doctest/doctest.h>

using namespace cb;

namespace {

Record record(int64_t size, const std::string& metric, std::initializer_list<double> samples) {
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

}  // namespace

TEST_CASE("The best combination of each size, the worst entity counting") {
  Document first, second, third;
  first.records = {record(1, "rate", {10, 4}), record(2, "rate", {10, 10})};
  second.records = {record(1, "rate", {5, 6}), record(2, "rate", {1, 1})};
  third.records = {record(2, "rate", {20})};
  const std::vector<SweepRun> runs{
      {{"a"}, &first}, {{"b"}, &second}, {{"c"}, nullptr}, {{"d"}, &third}};
  const auto points = rank_sweep(runs, kRate);
  REQUIRE(points.size() == 2);
  CHECK(points[0].params.integer("size") == 1);
  REQUIRE(points[0].ranked.size() == 2);
  CHECK(points[0].ranked[0].run == 1);
  CHECK(points[0].ranked[0].median == 5);
  CHECK(points[0].ranked[1].median == 4);
  REQUIRE(points[1].ranked.size() == 3);
  CHECK(points[1].ranked[0].run == 3);
  CHECK(points[1].ranked[2].run == 1);

  const MetricDef time{"rate", "seconds", Better::lower, ""};
  const auto fastest = rank_sweep(runs, time);
  CHECK(fastest[0].ranked[0].run == 1);  // its worst is 6, the other's 10
  CHECK(fastest[0].ranked[0].median == 6);
}

TEST_CASE("Best by more than both intervals, or within noise") {
  const auto point = [](double a, double b, std::optional<double> width) {
    return SweepPoint{{}, {{0, a, width}, {1, b, width}}};
  };
  CHECK(clearly_best(point(100, 97, 0.01)));
  CHECK_FALSE(clearly_best(point(100, 99, 0.01)));
  CHECK_FALSE(clearly_best(point(100, 50, std::nullopt)));
  CHECK_FALSE(clearly_best(SweepPoint{{}, {{0, 1, 0.01}}}));
}

TEST_CASE("The metric to compare is the first of the case's that was measured") {
  Document document;
  document.records = {record(1, "rate", {1})};
  CaseInfo info;
  info.metrics = {{"other", "seconds", Better::lower, ""}, kRate};
  CHECK(sweep_metric(info, {{{"a"}, &document}})->name == "rate");
  CHECK_FALSE(sweep_metric(info, {{{"a"}, nullptr}}).has_value());
}
