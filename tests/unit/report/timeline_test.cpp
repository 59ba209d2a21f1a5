// What a time line says of counters: when they grew, that they did, that they did not, or that none
// was read.
#include "report/timeline.h"

#include <doctest/doctest.h>

#include "tests/unit/report/one_step.h"

using namespace cb;

namespace {

// A clock and, where asked, a counter that goes from 0 to `after`, of which the series may be
// absent.
Record burned(std::optional<double> after, bool recorded = true) {
  Record out{.case_name = "burn"};
  const size_t cpu = out.entity({"n1", "cpu", "3"});
  out.telemetry.series.push_back({"clock_hertz", "hertz", cpu, {0, 1, 2, 3}, {2e9, 2e9, 2e9, 2e9}});
  out.telemetry.series.push_back({"load_1min", "count", cpu, {0, 1, 2, 3}, {1, 1.5, 2, 2.5}});
  out.telemetry.deltas.push_back({"device_reads", "count", cpu, 0, 1000});  // work
  if (!after) return out;
  out.telemetry.deltas.push_back({"core_throttle_count", "count", cpu, 0, *after});
  if (recorded && *after > 0)
    out.telemetry.series.push_back(
        {"core_throttle_count", "count", cpu, {0, 1, 2, 3}, {0, 0, *after, *after}});
  return out;
}

Figure figure_of(Record record) {
  auto figure = of_infer_step({std::move(record)}, timeline_figure);
  REQUIRE(figure);
  return *figure;
}

bool ends_with(const std::string& caption, const std::string& text) {
  return caption.ends_with(text);
}

}  // namespace

TEST_CASE("a counter that grew is an event at its time, and the load average is none") {
  const Figure figure = figure_of(burned(2));
  const auto& events = std::get<TimelineChart>(figure.chart).events;
  REQUIRE(events.size() == 1);
  CHECK(events[0].at == 2);
  CHECK(events[0].label.find("+2") != std::string::npos);
  CHECK(std::get<TimelineChart>(figure.chart).panels.size() == 2);  // clock and load
}

TEST_CASE("a caption claims no more of counters than is known") {
  CHECK(ends_with(figure_of(burned(0)).caption, "No counter of errors or throttling grew."));
  CHECK(ends_with(figure_of(burned({})).caption, "No counter of errors or throttling was read."));
  const std::string grew = figure_of(burned(2, false)).caption;
  CHECK(grew.find("Grew at a time that is not recorded: n1:3: ") != std::string::npos);
  CHECK(ends_with(grew, " +2."));
}
