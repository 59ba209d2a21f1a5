#include "core/result.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <nlohmann/json.hpp>

#include "core/json/json_text.h"
#include "core/json/record_json.h"

using namespace cb;
using nlohmann::json;

namespace {

Record full_record() {
  Record r{.case_name = "gemm", .started = "2026-11-20T14:03:12Z", .ended = "2026-11-20T14:03:20Z"};
  r.params.set("dtype", std::string("fp64"));
  r.params.set_list("size", {int64_t{4096}, int64_t{8192}});
  r.params.set("duration", 5.0);
  r.params.set("direct", true);
  const size_t cpu = r.entity({"node01", "cpu", "0"});
  const size_t pair = r.entity({"node01", "pair", "", "node02"});
  Metric raw{.name = "flops_per_second", .unit = "flops_per_second", .entity = cpu};
  raw.samples = {9e10, 9.1e10, 9.3e10, 9.2e10, 9.15e10, 9.05e10};
  raw.ceiling = Ceiling{1e11, "2 cores × 16 FLOP × 3.1 GHz"};
  Metric many{
      .name = "latency_seconds", .unit = "seconds", .better = Better::lower, .entity = pair};
  many.samples = Samples(4);
  for (int i = 1; i <= 100; ++i) many.samples.add(1e-6 * i);
  r.metrics = {std::move(raw), std::move(many)};
  r.checks = {{.name = "product", .passed = true, .value = 1e-15, .limit = 1e-12, .entity = cpu},
              {.name = "data", .passed = false, .entity = pair, .detail = "3 of 7 wrong"}};
  r.telemetry.series = {{"clock", "hertz", cpu, {0, 0.5}, {2e9, 2.5e9}}};
  r.telemetry.deltas = {{"ecc_errors", "count", cpu, 3, 5}};
  r.facts = {{"library", "OpenBLAS 0.3.21"}};
  r.notes = {"turbo was on"};
  return r;
}

Document full_document() {
  Document d;
  d.tool = {"0.1.0", std::string(40, 'a'), true, {{"mpi", "Open MPI v4.1.4"}}};
  d.run.id = "0123456789abcdef";
  d.run.started = "2026-11-20T14:03:12Z";
  d.run.ended = "2026-11-20T14:04:12Z";
  d.run.argv = {"clusterbench", "gemm"};
  d.run.launcher = "mpirun";
  d.run.ranks = 2;
  d.run.hosts = {"node01", "node02"};
  d.run.environment = {{"OMP_NUM_THREADS", "2"}};
  d.run.partial = "interrupted";
  Part part{.kind = "nic", .id = "mlx5_0"};
  part.attributes = {{"rate_bits_per_second", int64_t{400000000000}},
                     {"up", true},
                     {"temperature", 51.5},
                     {"firmware", std::string("28.39.1002")}};
  part.unavailable = {{"serial", "needs root"}};
  d.hosts = {{"node01", {part, {.kind = "cpu", .id = "0"}}}, {"node02", {}}};
  Record skipped{.case_name = "nccl", .outcome = Skipped{"no GPU on node01"}};
  Record errored{.case_name = "io", .outcome = Errored{"node02 rank 1", "no space"}};
  d.records = {full_record(), skipped, errored};
  return d;
}

json full_json() { return json::parse(to_json_text(full_document())); }

// The message with which a changed document is refused, "accepted", or what else happened.
std::string refusal(const json& j) {
  try {
    (void)parse_document(j.dump(), "r.json");
  } catch (const UsageError& e) {
    return e.what();
  } catch (const std::exception& e) {
    return std::string("another exception: ") + e.what();
  }
  return "accepted";
}

bool refused(const json& j) { return refusal(j).starts_with("r.json: 1 problem\n"); }

}  // namespace

TEST_CASE("a document survives writing and reading") {
  const std::string text = to_json_text(full_document());
  const Document back = parse_document(text, "r.json");
  CHECK(to_json_text(back) == text);
  CHECK(back.run.partial == "interrupted");
  CHECK(back.hosts.at(0).parts.at(0).unavailable.at("serial") == "needs root");
  CHECK(std::get<int64_t>(back.hosts[0].parts[0].attributes.at("rate_bits_per_second")) ==
        400000000000);
  CHECK(std::get<double>(back.hosts[0].parts[0].attributes.at("temperature")) == 51.5);
  const Record& r = back.records.at(0);
  CHECK(r.params == full_record().params);
  CHECK(r.entities == full_record().entities);
  CHECK(r.metrics.at(0).samples.list().size() == 6);
  CHECK(r.metrics[0].samples.summary().median == doctest::Approx(9.125e10));
  CHECK(r.metrics[0].ceiling->value == 1e11);
  CHECK(r.metrics.at(1).better == Better::lower);
  REQUIRE(r.metrics[1].samples.histogram() != nullptr);
  CHECK(r.metrics[1].samples.count() == 100);
  CHECK(r.checks.at(0).value == 1e-15);
  CHECK_FALSE(r.checks.at(1).value.has_value());
  CHECK(r.checks[1].detail == "3 of 7 wrong");
  CHECK(r.telemetry.series.at(0).values == std::vector<double>{2e9, 2.5e9});
  CHECK(r.telemetry.deltas.at(0).after == 5);
  CHECK(std::get<Skipped>(back.records.at(1).outcome).reason == "no GPU on node01");
  CHECK(std::get<Errored>(back.records.at(2).outcome).where == "node02 rank 1");
}

TEST_CASE("entities are named as people name them") {
  CHECK(entity_name({"node017", "nic", "mlx5_3"}) == "node017:mlx5_3");
  CHECK(entity_name({"node04", "host", ""}) == "node04");
  CHECK(entity_name({"", "cluster", ""}) == "cluster");
  CHECK(entity_name({"n1", "pair", "", "n2"}) == "n1 → n2");
  CHECK(entity_name({"n1", "pair", "n1:mlx5_0", "n2:mlx5_1"}) == "n1:mlx5_0 → n2:mlx5_1");
  Record r;
  CHECK(r.entity({"a", "cpu", "0"}) == 0);
  CHECK(r.entity({"a", "cpu", "1"}) == 1);
  CHECK(r.entity({"a", "cpu", "0"}) == 0);
}

TEST_CASE("numbers that JSON cannot say are absent, and a failed check stays failed") {
  Document d = full_document();
  d.records[0].checks[0] = {.name = "product", .passed = false, .value = std::nan("")};
  d.records[0].checks[1].limit = std::numeric_limits<double>::infinity();
  d.records[0].metrics[0].ceiling->value = std::numeric_limits<double>::infinity();
  d.records[0].telemetry.series[0].values[0] = std::nan("");
  d.records[0].telemetry.deltas[0].after = std::nan("");
  d.hosts[0].parts[0].attributes["temperature"] = std::nan("");
  const Document back = parse_document(to_json_text(d), "r.json");
  const Check& check = back.records[0].checks[0];
  CHECK_FALSE(check.passed);
  CHECK_FALSE(check.value.has_value());
  CHECK(check.detail == "the value is nan");
  CHECK_FALSE(back.records[0].checks[1].limit.has_value());
  CHECK_FALSE(back.records[0].metrics[0].ceiling.has_value());
  CHECK(back.records[0].telemetry.series[0].at == std::vector<double>{0.5});
  CHECK(back.records[0].telemetry.deltas.empty());
  CHECK(back.hosts[0].parts[0].attributes.size() == 3);
}

TEST_CASE("a record that refers to what it does not have is not written") {
  Document d = full_document();
  d.records[0].metrics[0].entity = 2;
  CHECK_THROWS_AS((void)to_json_text(d), Error);
}

TEST_CASE("every key that is missing is noticed, and the place is named") {
  // What is optional by design; everything else must be there.
  const std::vector<std::string> optional{"partial", "peer",  "ceiling",    "detail",
                                          "value",   "limit", "unavailable"};
  // Of the recomputed summary these two exist only with enough samples.
  const std::vector<std::string> recomputed{"stdev", "ci95"};
  const auto is_in = [](const auto& list, const std::string& key) {
    return std::find(list.begin(), list.end(), key) != list.end();
  };
  size_t checked = 0;
  const std::function<void(json&, json&, bool)> walk = [&](json& root, json& node, bool free) {
    if (node.is_array())
      for (json& element : node) walk(root, element, false);
    if (!node.is_object()) return;
    std::vector<std::string> keys;
    for (const auto& [key, value] : node.items()) keys.push_back(key);
    for (const std::string& key : keys) {
      const json value = node[key];
      // Objects whose keys are data: any may be absent.
      const bool data = key == "params" || key == "attributes" || key == "facts" ||
                        key == "environment" || key == "build" || key == "unavailable";
      const bool may_lack = free || is_in(optional, key) || is_in(recomputed, key);
      node.erase(key);
      if (!may_lack) {
        CHECK_MESSAGE(refused(root), key << " missing: " << refusal(root));
        ++checked;
      }
      node[key] = value;
      walk(root, node[key], data);
    }
  };
  json root = full_json();
  walk(root, root, false);
  CHECK(checked > 100);
  CHECK(refusal(root) == "accepted");
}

TEST_CASE("every value of a wrong type is noticed, and nothing else than bad input is thrown") {
  const std::vector<json> wrong{nullptr,
                                "text",
                                -1,
                                1.5,
                                true,
                                json::array(),
                                json::object(),
                                json::array({1}),
                                {{"x", 1}},
                                18446744073709551615U,
                                ""};
  size_t refusals = 0;
  const std::function<void(json&, json&)> walk = [&](json& root, json& node) {
    if (node.is_structured() && !node.empty())
      for (json& child : node) walk(root, child);
    const json value = node;
    for (const json& other : wrong) {
      node = other;
      const std::string what = refusal(root);
      const bool known = what == "accepted" || what.starts_with("r.json: 1 problem\n");
      CHECK_MESSAGE(known, what);
      refusals += what == "accepted" ? 0 : 1;
      // No place of the document may be null, whatever it was.
      if (other.is_null()) CHECK(what != "accepted");
    }
    node = value;
  };
  json root = full_json();
  walk(root, root);
  CHECK(refusals > 1000);
}

TEST_CASE("values that no measurement gives are refused one by one") {
  const auto change = [](const std::string& pointer, const json& value) {
    json j = full_json();
    j.at(json::json_pointer(pointer)) = value;
    return refusal(j);
  };
  CHECK(change("/run/ranks", 2) == "accepted");
  const std::vector<std::pair<std::string, json>> hostile{
      {"/run/ranks", 0},
      {"/run/ranks", -1},
      {"/run/ranks", 4294967297},
      {"/records/0/metrics/0/entity", 2},
      {"/records/0/metrics/0/entity", -1},
      {"/records/0/metrics/0/entity", 0.5},
      {"/records/0/checks/0/entity", 99},
      {"/records/0/telemetry/series/0/entity", 2},
      {"/records/0/telemetry/deltas/0/entity", 2},
      {"/records/0/metrics/0/samples", json::array()},
      {"/records/0/metrics/0/samples/0", "9e10"},
      {"/records/0/metrics/0/samples/0", nullptr},
      {"/records/0/metrics/0/samples/0", 1e300},
      {"/records/0/metrics/0/samples/0", 1e10},  // does not fit the summary
      {"/records/0/metrics/0/summary/n", 7},
      {"/records/0/metrics/0/summary/n", -6},
      {"/records/0/metrics/0/summary/median", 9.9e10},
      {"/records/0/metrics/0/ceiling/value", 0},
      {"/records/0/metrics/0/ceiling/value", -1},
      {"/records/0/metrics/0/better", "faster"},
      {"/records/0/metrics/1/histogram/buckets/0/1", -1},
      {"/records/0/metrics/1/histogram/buckets/0/0", -1},
      {"/records/0/metrics/1/histogram/buckets/0/0", 4294967296},
      {"/records/0/metrics/1/histogram/buckets/0", json::array({1, 2, 3})},
      {"/records/0/metrics/1/histogram/max", 5},
      {"/records/0/telemetry/series/0/at", json::array({1})},
      {"/records/0/params/size", json::array()},
      {"/records/0/params/size", json::object()},
      {"/records/0/outcome", "fine"},
      {"/records/0/outcome", "skipped"},  // with metrics, and without a reason
      {"/records", json::object()},
      {"/schema", "clusterbench.result/3"},
      {"/schema", "clusterbench.profile/1"}};
  for (const auto& entry : hostile) {
    const std::string& pointer = entry.first;
    const json& value = entry.second;
    const std::string what = change(pointer, value);
    CHECK_MESSAGE(what.starts_with("r.json: 1 problem\n"), pointer << " " << value << ": " << what);
  }
  json both = full_json();
  both["records"][0]["metrics"][0]["histogram"] = both["records"][0]["metrics"][1]["histogram"];
  CHECK(refused(both));
  json skipped = full_json();
  skipped["records"][0]["outcome"] = "skipped";
  skipped["records"][0]["reason"] = "because";
  CHECK(refusal(skipped).find("records[0] has metrics, though") != std::string::npos);
}

TEST_CASE("a refusal names the place") {
  json j = full_json();
  j["records"][0]["metrics"][1]["unit"] = 7;
  CHECK(refusal(j) ==
        "r.json: 1 problem\n  is not a usable result document: records[0].metrics[1].unit is a "
        "number, not a text");
}

TEST_CASE("infinity, truncation and foreign files are refused") {
  const std::string text = to_json_text(full_document());
  std::string infinite = text;
  const size_t place = infinite.find("91000000000.0");
  REQUIRE(place != std::string::npos);
  infinite.replace(place, 13, "1e999");
  CHECK_THROWS_AS((void)parse_document(infinite, "r"), UsageError);
  for (size_t n = 0; n < text.size() - 2; n += 97)
    CHECK_THROWS_AS((void)parse_document(text.substr(0, n), "r"), UsageError);
  for (const char* foreign : {"[]", "7", "null", "{}", "\"x\"", R"({"schema": 3})",
                              R"({"context": {"date": "x"}, "benchmarks": []})"})
    CHECK_THROWS_AS((void)parse_document(foreign, "r"), UsageError);
}

TEST_CASE("records travel between ranks without loss") {
  const json j = record_to_json(full_record());
  CHECK(record_to_json(record_from_json(json::parse(j.dump()))) == j);
}

TEST_CASE("parts and attributes are found") {
  const HostInventory host = full_document().hosts.at(0);
  CHECK(host.find("nic")->id == "mlx5_0");
  CHECK(host.find("nic", "mlx5_0") == host.find("nic"));
  CHECK(host.find("nic", "mlx5_1") == nullptr);
  CHECK(host.all("cpu").size() == 1);
  CHECK(host.all("gpu").empty());
  const Part* nic = host.find("nic");
  CHECK(number_of(nic, "rate_bits_per_second") == 4e11);
  CHECK(number_of(nic, "temperature") == 51.5);
  CHECK_FALSE(number_of(nic, "firmware").has_value());
  CHECK_FALSE(number_of(nullptr, "x").has_value());
  CHECK(text_of(nic, "up") == "yes");
  CHECK(text_of(nic, "rate_bits_per_second") == "400000000000");
  CHECK_FALSE(text_of(nic, "serial").has_value());
}
