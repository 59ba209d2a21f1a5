// What a time line says of counters: which grew, when if that is known, and on how many hosts they
// were read.
#include "report/timeline.h"

#include <doctest/doctest.h>

#include "report/fault_counters.h"
#include "tests/unit/report/one_step.h"

using namespace cb;

namespace {

constexpr const char* kThrottle = "core_throttle_count";

// A host with a clock and a load; its counters are added by the tests.
Record burned(const std::string& host) {
  Record out{.case_name = "burn"};
  const size_t self = out.entity({host, "host", ""});
  out.telemetry.series.push_back(
      {"clock_hertz", "hertz", self, {0, 1, 2, 3}, {2e9, 2e9, 2e9, 2e9}});
  out.telemetry.series.push_back({"load_1min", "count", self, {0, 1, 2, 3}, {1, 1.5, 2, 2.5}});
  out.telemetry.deltas.push_back({"device_reads", "count", self, 0, 1000});  // work
  return out;
}

// A counter of this CPU before and after, and its readings around each change.
void count(Record& record, const std::string& cpu, const std::string& name, double after,
           std::vector<double> at = {}, std::vector<double> values = {}) {
  const size_t entity = record.entity({record.entities.front().host, "cpu", cpu});
  record.telemetry.deltas.push_back({name, "count", entity, 0, after});
  if (!at.empty()) record.telemetry.series.push_back({name, "count", entity, at, values});
}

Figure figure_of(std::vector<Record> records) {
  auto figure = of_infer_step(std::move(records), timeline_figure);
  REQUIRE(figure);
  return *figure;
}

bool has(const Figure& figure, const std::string& text) {
  return figure.caption.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("cores that count the same throttling are one event, and load and reads are none") {
  Record record = burned("n1");
  for (const char* cpu : {"0", "1", "2"}) count(record, cpu, kThrottle, 2, {1, 2}, {0, 2});
  const Figure figure = figure_of({record});
  const auto& chart = std::get<TimelineChart>(figure.chart);
  REQUIRE(chart.events.size() == 1);
  CHECK(chart.events[0].at == 2);
  CHECK(chart.panels.size() == 2);  // clock and load
  CHECK(has(figure,
            "1 event, where the dashed line stands: n1:0 and 2 more: throttlings of the core "
            "by temperature +2."));
}

TEST_CASE("what no series tells of is named without a time, also if a part has one") {
  Record record = burned("n1");
  count(record, "0", kThrottle, 5, {1, 2}, {0, 2});
  count(record, "1", "corrected_memory_errors mc0", 4);
  const Figure figure = figure_of({record});
  CHECK(has(figure, "n1:0: throttlings of the core by temperature +2."));
  CHECK(has(figure,
            "Grew at times that are not shown: n1:0: throttlings of the core by temperature +3, "
            "n1:1: corrected memory errors mc0 +4."));
}

TEST_CASE("what an entity grew by in several records is added, and the most is named first") {
  Record first = burned("n1"), second = burned("n1");
  count(first, "0", kThrottle, 2);
  count(first, "1", kThrottle, 1);
  count(first, "2", kThrottle, 1);
  count(second, "1", kThrottle, 6);
  CHECK(has(figure_of({first, second}),
            "shown: n1:1 and 2 more: throttlings of the core by temperature +7."));
}

TEST_CASE("a caption claims no more of counters than was read") {
  CHECK(has(figure_of({burned("n1")}), "No counter of errors or of slowing by heat was read."));
  Record counted = burned("n1");
  count(counted, "0", kThrottle, 0);
  const Figure one = figure_of({counted});
  CHECK(has(one, "No counter of errors or of slowing by heat grew."));
  CHECK_FALSE(has(one, "hosts"));
  CHECK(has(figure_of({counted, burned("n2")}), "grew. Such counters were read on 1 of 2 hosts."));
}

TEST_CASE("of very many events the first have a line, and all are counted") {
  Record record = burned("n1");
  std::vector<double> at, values;
  for (int i = 0; i <= 70; ++i) at.push_back(i), values.push_back(i);
  count(record, "0", kThrottle, 70, at, values);
  const Figure figure = figure_of({record});
  CHECK(std::get<TimelineChart>(figure.chart).events.size() == 60);
  CHECK(has(figure, "70 events"));
  CHECK(has(figure, "The first 60 have a line."));
  CHECK(has(figure, "62 more"));
}

TEST_CASE("the overloaded host is the worst of the load") {
  Record busy = burned("n2");
  busy.telemetry.series[1].values = {9, 9, 9, 9};
  const Figure figure = figure_of({burned("n1"), busy});
  CHECK(std::get<TimelineChart>(figure.chart).panels.at(1).label.find("n2") != std::string::npos);
}

TEST_CASE("work that is counted is no fault") {
  CHECK(counts_faults("ecc_corrected"));
  CHECK(counts_faults("uncorrected_memory_errors mc1"));
  CHECK_FALSE(counts_faults("energy_joules"));
  CHECK_FALSE(counts_faults("device_writes"));
  CHECK_FALSE(counts_faults("power_cap_seconds"));
}
