#include "campaign/headline.h"

#include <doctest/doctest.h>

using namespace cb;

namespace {

Metric figure(const char* name, const char* unit, double value) {
  return {.name = name, .unit = unit, .samples = {value}};
}

// A record of io as it is written: the rate first, what contracts ask for behind it.
Document measured(int64_t size = 4096) {
  Document document;
  document.run.hosts = {"n1"};
  Record record{.case_name = "io"};
  record.params.set("size", size);
  record.entity({"n1", "disk", "d"});
  record.metrics = {figure("bytes_per_second", "bytes_per_second", 311e6),
                    figure("io_per_second", "io_per_second", 76e3)};
  document.records.push_back(record);
  return document;
}

}  // namespace

TEST_CASE("the line of a step shows the metric that the profile judges") {
  const Document document = measured();
  CHECK(headline({&document}).starts_with("311 MB/s"));
  CHECK(headline({&document}, {{.metric = "io_per_second"}}).starts_with("76.0 k IOPS"));
  // The first rule that has a figure there.
  CHECK(headline({&document}, {{.metric = "latency_seconds"}, {.metric = "io_per_second"}})
            .starts_with("76.0 k IOPS"));
  CHECK(headline({&document}, {{.metric = "latency_seconds"}}).starts_with("311 MB/s"));
}

TEST_CASE("a rule for another point does not choose the metric") {
  const Document document = measured();
  const MetricRule there{.metric = "io_per_second", .at = {{"size", {"4K"}}}};
  const MetricRule elsewhere{.metric = "io_per_second", .at = {{"size", {"8K"}}}};
  CHECK(headline({&document}, {there}).starts_with("76.0 k IOPS"));
  CHECK(headline({&document}, {elsewhere}).starts_with("311 MB/s"));
}

TEST_CASE("the rules of a step, in the profile's order") {
  Profile profile;
  Criterion a{.id = "a", .step = "s"}, b{.id = "b", .step = "t"}, c{.id = "c", .step = "s"};
  a.rule = MetricRule{.metric = "x"};
  b.rule = MetricRule{.metric = "y"};
  c.rule = CheckRule{.check = "data"};
  profile.criteria = {a, b, c};
  REQUIRE(metric_rules(profile, "s").size() == 1);
  CHECK(metric_rules(profile, "s")[0].metric == "x");
}
