// How the report shows requests that arrive over time: the slowest replica at each offered rate.
#include <doctest/doctest.h>

#include "report/load_figures.h"
#include "tests/unit/report/one_step.h"

using namespace cb;

namespace {

// Rank 1 takes twice as long to a first token. Without latencies: rank 1's queue grew.
Record served(double rate, int64_t batch = 4, bool grows = false) {
  Record out{.case_name = "infer"};
  out.params.set("batch", batch);
  out.params.set("arrival-rate", rate);
  for (const int rank : {0, 1}) {
    const size_t self = out.entity({"h", "rank", std::to_string(rank)});
    out.add("requests_per_second", self, {rate * 0.9});
    if (grows && rank == 1) continue;
    out.add("request_first_token_seconds", self, {0.1 * rate * (rank + 1)});
  }
  return out;
}

std::vector<Figure> figures_of_load(std::vector<Record> records) {
  return of_infer_step(std::move(records), load_figures);
}

}  // namespace

TEST_CASE("latency over the offered rate is that of the slowest replica, in the order of rates") {
  const auto figures = figures_of_load({served(20), served(10), served(10, 8)});
  REQUIRE(figures.size() == 1);  // of eight at once one rate is no line
  const auto& chart = std::get<TimelineChart>(figures[0].chart);
  REQUIRE(chart.panels.size() == 2);
  const auto& requests = chart.panels[0].lines;
  CHECK(requests.at(0).points.at(0)[1] == doctest::Approx(9));
  CHECK(requests.at(1).points.at(1)[1] == 20);
  const auto& first = chart.panels[1].lines.at(0).points;
  CHECK(first.at(0)[0] == 10);
  CHECK(first.at(0)[1] == doctest::Approx(2));
  CHECK(first.at(1)[1] == doctest::Approx(4));
  CHECK(figures[0].caption.find("10.0 /s offered: 9.00 /s served, 2.00 s from the arrival") !=
        std::string::npos);
  CHECK(figures[0].caption.find("h:1, the slowest") != std::string::npos);
}

TEST_CASE("a replica whose queue grew is the slowest, and has no latency") {
  const auto figures = figures_of_load({served(10), served(90, 4, true)});
  REQUIRE(figures.size() == 1);
  CHECK(std::get<TimelineChart>(figures[0].chart).panels[1].lines[0].points.size() == 1);
  CHECK(figures[0].caption.find("90.0 /s offered: 81.0 /s served, and the queue grew") !=
        std::string::npos);
  CHECK(figures[0].caption.find("(h:1)") != std::string::npos);
}

TEST_CASE("the time within which 99 % have their first token is the longest of any replica") {
  const auto at = [](double rate, bool rank_1_first) {
    Record out{.case_name = "infer"};
    out.params.set("batch", int64_t{4});
    out.params.set("arrival-rate", rate);
    for (const int rank : rank_1_first ? std::vector<int>{1, 0} : std::vector<int>{0, 1}) {
      const size_t self = out.entity({"h", "rank", std::to_string(rank)});
      out.add("requests_per_second", self, {rate});
      // Rank 0: 50 ms and little more. Rank 1: 40 ms, but for its last request.
      out.add("request_first_token_seconds", self,
              rank == 0 ? Samples{0.05, 0.05, 0.06} : Samples{0.04, 0.04, 5.0});
    }
    return out;
  };
  const auto figures = figures_of_load({at(10, false), at(20, true)});
  REQUIRE(figures.size() == 1);
  const auto& first = std::get<TimelineChart>(figures[0].chart).panels.at(1).lines;
  for (const size_t i : {0, 1}) {
    CHECK(first.at(0).points.at(i)[1] == doctest::Approx(0.05));
    CHECK(first.at(1).points.at(i)[1] > 4);
  }
  CHECK(figures[0].caption.find("50.0 ms from the arrival to the first token (h:0") !=
        std::string::npos);
  CHECK(figures[0].caption.find("(h:1, the slowest by this)") != std::string::npos);
}

TEST_CASE("where the queue grew, the replica that can take least is named") {
  Record beyond{.case_name = "infer"};
  beyond.params.set("batch", int64_t{4});
  beyond.params.set("arrival-rate", 50.0);
  for (const int rank : {0, 1}) {
    const size_t self = beyond.entity({"h", "rank", std::to_string(rank)});
    beyond.add("requests_per_second", self, {rank == 0 ? 46.0 : 47.0});  // few came to rank 0
    beyond.add("capacity_requests_per_second", self, {rank == 0 ? 52.0 : 48.0});
  }
  const auto figures = figures_of_load({served(10), std::move(beyond)});
  REQUIRE(figures.size() == 1);
  CHECK(figures[0].caption.find("47.0 /s served, and the queue grew") != std::string::npos);
  CHECK(figures[0].caption.find("(h:1)") != std::string::npos);
}

TEST_CASE("records without arrivals are no load") {
  Record other{.case_name = "infer"};
  other.params.set("batch", int64_t{4});
  other.add("decode_tokens_per_second", other.entity({"h", "rank", "0"}), {9});
  CHECK(figures_of_load({served(10), std::move(other)}).empty());
}
