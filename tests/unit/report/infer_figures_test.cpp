// How the report shows generated tokens: the slowest replica at each number of sequences.
#include <doctest/doctest.h>

#include "report/infer_figures.h"
#include "tests/unit/report/one_step.h"

using namespace cb;

namespace {

// Rank 1 takes twice as long for a token.
Record generated(int64_t batch, bool with_ceiling = true) {
  Record out{.case_name = "infer"};
  out.params.set("batch", batch);
  for (const int rank : {0, 1}) {
    const size_t self = out.entity({"h", "rank", std::to_string(rank)});
    const double seconds = 0.010 * static_cast<double>(batch + 3) * (rank + 1);
    const double rate = static_cast<double>(batch) / seconds;
    if (with_ceiling) {
      out.add("decode_tokens_per_second", self, {rate}, Ceiling{rate * 2, Said("x")});
    } else {
      out.add("decode_tokens_per_second", self, {rate});
    }
    out.add("time_per_output_token_seconds", self, {seconds});
    out.add("time_to_first_token_seconds", self, {0.5 * static_cast<double>(batch)});
  }
  return out;
}

std::optional<Figure> figure_of_infer(std::vector<Record> records) {
  return of_infer_step(std::move(records), infer_figure);
}

}  // namespace

TEST_CASE(
    "tokens over sequences at once are those of the slowest replica, in the order of numbers") {
  const auto figure = figure_of_infer({generated(8), generated(1)});
  REQUIRE(figure);
  const auto& chart = std::get<TimelineChart>(figure->chart);
  REQUIRE(chart.panels.size() == 3);
  const TimeLine& rate = chart.panels[0].lines.at(0);
  REQUIRE(rate.points.size() == 2);
  CHECK(rate.points[0][0] == 1);
  CHECK(rate.points[0][1] == doctest::Approx(12.5));
  CHECK(rate.points[1][0] == 8);
  CHECK(rate.points[1][1] == doctest::Approx(8 / 0.22));
  CHECK(chart.panels[0].lines.at(1).points[1][1] == doctest::Approx(16 / 0.22));
  CHECK(chart.panels[1].lines.at(0).points[1][1] == doctest::Approx(0.22));
  CHECK(chart.panels[2].lines.at(0).points[1][1] == doctest::Approx(4));
  CHECK(figure->caption.find("h:1, the slowest") != std::string::npos);
  CHECK(figure->caption.find("Grey") != std::string::npos);
}

TEST_CASE("a ceiling that not every number of sequences has is not drawn") {
  const auto figure = figure_of_infer({generated(8), generated(1, false)});
  REQUIRE(figure);
  CHECK(std::get<TimelineChart>(figure->chart).panels[0].lines.size() == 1);
  CHECK(figure->caption.find("Grey") == std::string::npos);
}

TEST_CASE("one number of sequences is no line, and other cases are no tokens") {
  CHECK_FALSE(figure_of_infer({generated(8)}));
  Record other{.case_name = "train"};
  other.params.set("batch", int64_t{1});
  other.add("step_seconds", other.entity({"", "cluster", ""}), {0.9});
  CHECK_FALSE(figure_of_infer({generated(8), std::move(other)}));
}
