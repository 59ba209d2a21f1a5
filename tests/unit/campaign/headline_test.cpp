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

namespace {

Metric headline_metric(const std::string& name, size_t entity, double value,
                       Better better = Better::higher) {
  return {.name = name,
          .unit = "bytes_per_second",
          .better = better,
          .entity = entity,
          .samples = {value}};
}

Record headline_record(int64_t size, const std::vector<std::pair<std::string, double>>& values,
                       Better better = Better::higher) {
  Record r{.case_name = "fake"};
  r.params.set("size", size);
  for (const auto& entry : values) {
    const size_t e = r.entity({entry.first, "host", ""});
    r.metrics.push_back(headline_metric("rate", e, entry.second, better));
    r.checks.push_back({.name = "data", .passed = true, .entity = e});
  }
  return r;
}

Document headline_document(const std::vector<std::string>& hosts, std::vector<Record> records) {
  Document d;
  d.run.hosts = hosts;
  d.records = std::move(records);
  return d;
}

}  // namespace

TEST_CASE("the worst host's figure, with its name where there are several") {
  const Document one = headline_document({"n1"}, {headline_record(1024, {{"n1", 5e9}})});
  CHECK(headline({&one}) == "5.00 GB/s, 1 check, 0 wrong");
  const Document other = headline_document({"n2"}, {headline_record(1024, {{"n2", 4e9}})});
  CHECK(headline({&one, &other}) == "4.00 GB/s, worst of 2 hosts: n2, 2 checks, 0 wrong");
  const Document slow =
      headline_document({"n1"}, {headline_record(1024, {{"n1", 5e9}}, Better::lower)});
  const Document fast =
      headline_document({"n2"}, {headline_record(1024, {{"n2", 4e9}}, Better::lower)});
  CHECK(headline({&slow, &fast}) == "5.00 GB/s, worst of 2 hosts: n1, 2 checks, 0 wrong");
}

TEST_CASE("the last point of several is named, or the last that the profile judges") {
  const Document d = headline_document(
      {"n1"}, {headline_record(1024, {{"n1", 1e9}}), headline_record(4096, {{"n1", 2e9}})});
  CHECK(headline({&d}) == "2.00 GB/s at size 4K, 2 checks, 0 wrong");
  const MetricRule first{.metric = "rate", .at = {{"size", {"1K"}}}};
  CHECK(headline({&d}, {first}) == "1.00 GB/s at size 1K, 2 checks, 0 wrong");
  const MetricRule none{.metric = "latency"};
  CHECK(headline({&d}, {none, first}) == "1.00 GB/s at size 1K, 2 checks, 0 wrong");
  CHECK(headline({&d}, {none}) == "2.00 GB/s at size 4K, 2 checks, 0 wrong");
}

TEST_CASE("the share of a ceiling, the spread, and what was wrong") {
  Document d = headline_document({"n1"}, {headline_record(1024, {{"n1", 5e9}})});
  Record& r = d.records[0];
  r.metrics[0].ceiling = Ceiling{10e9, "x"};
  CHECK(headline({&d}) == "5.00 GB/s, 50 % of ceiling, 1 check, 0 wrong");
  r.metrics[0].ceiling = Ceiling{0, "x"};
  CHECK(headline({&d}) == "5.00 GB/s, 1 check, 0 wrong");
  r.metrics[0].unit = "share";
  r.metrics[0].samples = {0.5};
  r.metrics[0].ceiling = Ceiling{1, "x"};
  CHECK(headline({&d}) == "50.0 %, 50 % of ceiling, 1 check, 0 wrong");
  r.metrics[0].samples = {0.4, 0.4, 0.5, 0.5, 0.6, 0.6};
  r.checks[0].passed = false;
  CHECK(headline({&d}) == "50.0 % ±20.0 %, 50 % of ceiling, 1 check, 1 wrong");
  CHECK(failed_checks({&d, &d}) == 2);
}

TEST_CASE("a step without figures says on how many hosts it ran") {
  const Document one = headline_document({"n1"}, {});
  const Document two = headline_document({"n1", "n2"}, {Record{.case_name = "info"}});
  CHECK(headline({&one}) == "1 host");
  CHECK(headline({&one, &two}) == "2 hosts");
}
