#include "judge/transports.h"

#include <doctest/doctest.h>

using namespace cb;

namespace {

// Two cases as the registry has them: what matters here is side and label.
const Catalogue kCases{{.name = "verbs",
                        .params = {{.name = "op", .type = ParamType::choice},
                                   {.name = "size", .type = ParamType::size}},
                        .transport = TransportSide::rdma,
                        .label_params = {"op", "size"}},
                       {.name = "tcp",
                        .params = {{.name = "streams", .type = ParamType::integer}},
                        .transport = TransportSide::tcp,
                        .label_params = {"streams"}}};

Record measured_by(const char* case_name, const char* direction, int64_t size) {
  Record r{.case_name = case_name};
  r.params.set("direction", std::string(direction));
  r.params.set("size", size);
  if (r.case_name == "verbs") r.params.set("op", std::string("write"));
  if (r.case_name == "tcp") r.params.set("streams", int64_t{8});
  return r;
}

void add(Record& r, const char* name, std::initializer_list<double> of_pairs) {
  for (const double v : of_pairs) {
    r.metrics.push_back({.name = name,
                         .unit = "",
                         .entity = r.entity({"n" + std::to_string(v), "pair", ""}),
                         .samples = {v}});
  }
}

}  // namespace

TEST_CASE("the best one-way record of each, the median over its pairs") {
  std::vector<Record> records{
      measured_by("verbs", "one-way", 1 << 20), measured_by("verbs", "one-way", 4096),
      measured_by("verbs", "two-way", 1 << 20), measured_by("tcp", "one-way", 131072)};
  add(records[0], "bytes_per_second", {40e9, 48e9, 50e9});
  add(records[0], "send_cpu_per_gigabit_seconds", {0.002});
  add(records[1], "bytes_per_second", {20e9});
  add(records[2], "bytes_per_second", {90e9});
  add(records[3], "bytes_per_second", {12e9});
  add(records[3], "send_cpu_per_gigabit_seconds", {0.02});
  const auto rows = compare_transports({records}, kCases);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].name == "bandwidth, one way");
  CHECK(rows[0].rdma == 48e9);
  CHECK(rows[0].rdma_point == "write 1M");
  CHECK(rows[0].tcp == 12e9);
  CHECK(rows[0].tcp_point == "8 streams");
  CHECK(*rows[0].factor() == doctest::Approx(4));
  CHECK(*rows[1].factor() == doctest::Approx(10));  // less CPU is better
}

TEST_CASE("what only one of them has is shown, without a factor") {
  std::vector<Record> records{measured_by("tcp", "one-way", 64)};
  add(records[0], "half_round_trip_seconds", {20e-6});
  const auto rows = compare_transports({records}, kCases);
  REQUIRE(rows.size() == 1);
  CHECK_FALSE(rows[0].rdma.has_value());
  CHECK_FALSE(rows[0].factor().has_value());
  CHECK(compare_transports({}, kCases).empty());
}

TEST_CASE("the catalogue alone says which case is which transport") {
  Record other{.case_name = "ribbon"};
  other.params.set("lanes", int64_t{1});
  add(other, "bytes_per_second", {7e9});
  CHECK(compare_transports({{other}}, kCases).empty());
  const Catalogue renamed{{.name = "ribbon",
                           .params = {{.name = "lanes", .type = ParamType::integer}},
                           .transport = TransportSide::rdma,
                           .label_params = {"lanes"}}};
  const auto rows = compare_transports({{other}}, renamed);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].rdma == 7e9);
  CHECK(rows[0].rdma_point == "1 lane");
}

TEST_CASE("a record that errored says nothing") {
  std::vector<Record> records{measured_by("verbs", "one-way", 64)};
  add(records[0], "half_round_trip_seconds", {2e-6});
  records[0].outcome = Errored{"n1", "gone"};
  CHECK(compare_transports({records}, kCases).empty());
}

TEST_CASE("more than one job each tells a difference from noise") {
  const auto job = [](const char* case_name, double rate) {
    std::vector<Record> out{measured_by(case_name, "one-way", 1 << 20)};
    add(out[0], "bytes_per_second", {rate});
    return out;
  };
  const auto row = [&](std::vector<double> rdma, std::vector<double> tcp) {
    std::vector<std::vector<Record>> jobs;
    for (const double r : rdma) jobs.push_back(job("verbs", r));
    for (const double r : tcp) jobs.push_back(job("tcp", r));
    return compare_transports(jobs, kCases).at(0);
  };
  CHECK(row({48e9}, {12e9}).verdict() == TransportVerdict::one_job);
  CHECK(row({48e9, 49e9}, {12e9}).verdict() == TransportVerdict::one_job);
  CHECK(row({48e9, 49e9, 47e9}, {12e9, 11e9, 13e9}).verdict() == TransportVerdict::differ);
  CHECK(row({12e9, 14e9, 10e9}, {11e9, 13e9, 12e9}).verdict() == TransportVerdict::no_difference);
  CHECK(row({12e9, 12e9}, {12e9, 12e9}).verdict() == TransportVerdict::no_difference);
  CHECK(row({12e9, 12e9}, {13e9, 13e9}).verdict() == TransportVerdict::differ);  // no spread at all
  // Welch's p of the logarithms: 0.038 and, with one job nearer, 0.063.
  CHECK(row({10e9, 11e9, 12e9}, {12.5e9, 14e9, 15e9}).verdict() == TransportVerdict::differ);
  CHECK(row({10e9, 11e9, 12e9}, {12e9, 13.5e9, 14e9}).verdict() == TransportVerdict::no_difference);
  CHECK(row({48e9, 49e9, 47e9}, {12e9, 11e9, 13e9}).rdma == 48e9);  // the median over the jobs
}

TEST_CASE("RDMA can be the slower one") {
  std::vector<Record> records{measured_by("verbs", "one-way", 64),
                              measured_by("tcp", "one-way", 64)};
  add(records[0], "bytes_per_second", {5e9});
  add(records[1], "bytes_per_second", {10e9});
  CHECK(*compare_transports({records}, kCases).at(0).factor() == doctest::Approx(0.5));
}

TEST_CASE("no factor of what is not above 0, for either of them, and no verdict") {
  const auto of = [](std::optional<double> rdma, std::optional<double> tcp) {
    return TransportRow{.name = "x", .unit = "count", .rdma = rdma, .tcp = tcp};
  };
  CHECK(*of(3, 2).factor() == 1.5);
  CHECK(*of(0.3, 0.2).factor() == doctest::Approx(1.5));
  CHECK_FALSE(of(0, 2).factor());
  CHECK_FALSE(of(3, 0).factor());
  CHECK_FALSE(of(3, {}).factor());
  CHECK_FALSE(of({}, 2).factor());
  TransportRow none = of(0, 2);
  none.rdma_jobs = {0, 0};
  none.tcp_jobs = {2, 2};
  CHECK(none.verdict() == TransportVerdict::one_job);
}

TEST_CASE("two that scatter alike are told apart only beyond their spread") {
  // Logarithms −a, a and 0, 2a: means a apart, the same spread; t = 1/√2 with df 2, p = 0.55.
  TransportRow row{.name = "x", .unit = "count", .rdma = 1.25, .tcp = 2.5};
  row.rdma_jobs = {0.5, 2};
  row.tcp_jobs = {1, 4};
  CHECK(row.verdict() == TransportVerdict::no_difference);
}
