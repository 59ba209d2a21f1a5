// The quick reader never takes what the strict one refuses, and reads the same.
#include "core/json/document_reader.h"

#include <cstdlib>
#include <fstream>
#include <set>

#include <doctest/doctest.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/json/json_text.h"

using namespace cb;
using nlohmann::json;

namespace {

std::string document_text() {
  Document d;
  d.tool = {"0.1.0", std::string(40, 'a'), false, {{"mpi", "Open MPI"}}};
  d.run.id = "0123456789abcdef";
  d.run.hosts = {"n1"};
  d.run.environment = {{"OMP_NUM_THREADS", "2"}};
  d.run.partial = said("run.interrupted");
  HostInventory host{.host = "n1", .parts = {}};
  host.parts.push_back({"gpu",
                        "0",
                        {{"model", "H20"}, {"count", int64_t{8}}, {"on", true}, {"t", 1.5}},
                        {{"x", "why"}, {"y", said("inventory.not_asked")}}});
  d.hosts = {host};
  Record r{.case_name = "gemm"};
  r.params.set("size", int64_t{4096});
  r.params.set("duration", 5.0);
  r.params.set_list("op", {std::string("a"), std::string("b")});
  const size_t e = r.entity({"n1", "pair", "", "n2"});
  Metric raw{.name = "flops_per_second", .unit = "flops_per_second", .entity = e};
  raw.samples = {9e10, 9.1e10, 9.3e10, 9.2e10, 9.15e10, 9.05e10};
  raw.ceiling = Ceiling{1e11, said("coll.per_gpu", Quantity{4.5e11, "bytes_per_second"})};
  Metric many{.name = "latency_seconds", .unit = "seconds", .better = Better::lower, .entity = e};
  many.samples = Samples(2);
  for (int i = 1; i < 9; ++i) many.samples.add(i);
  Metric twice{.name = "watts", .unit = "watts", .entity = e};
  twice.samples = {1, 2, 3, 4, 5, 6, 7};
  twice.attempts = {Samples{1, 2, 3, 4, 5, 6}.summary(), Samples{7}.summary()};
  r.metrics = {raw, many, twice};
  r.checks = {{.name = "data",
               .passed = false,
               .value = 1.0,
               .limit = 0.5,
               .entity = e,
               .detail = said("fake.wrong")},
              {.name = "gpu", .passed = true, .entity = e, .finding = true}};
  r.telemetry.series = {{"clock", "hertz", e, {0, 1}, {2e9, 3e9}}};
  r.telemetry.deltas = {{"ecc", "count", e, 3, 5}};
  r.facts = {{"library", "MPI"}, {"pages", said("memory.huge_pages")}};
  r.notes = {"note", said("said.of", "n1", said("fault.injected", "hang"))};
  Record skipped{.case_name = "io", .outcome = Skipped{"no disk"}};
  Record errored{.case_name = "io", .outcome = Errored{"n1", said("fake.failed")}};
  d.records = {r, skipped, errored};
  return to_json_text(d);
}

// Every name of a property that the schema of result documents knows.
void collect_names(const json& schema, std::set<std::string>& names) {
  if (schema.is_array()) {
    for (const json& item : schema) collect_names(item, names);
  }
  if (!schema.is_object()) return;
  for (const auto& [key, value] : schema.items()) {
    if (key == "properties") {
      for (const auto& [name, what] : value.items()) names.insert(name);
    }
    collect_names(value, names);
  }
}

std::set<std::string> names_of_schema() {
  const char* source = std::getenv("CLUSTERBENCH_SOURCE_DIR");
  REQUIRE_MESSAGE(source != nullptr, "set CLUSTERBENCH_SOURCE_DIR, as ctest does");
  std::ifstream file(std::string(source) + "/docs/result.schema.json");
  std::set<std::string> names;
  collect_names(json::parse(file), names);
  return names;
}

// An unknown key makes the quick reader step aside.
std::string for_the_strict(json j) {
  if (j.is_object()) j["zz_unknown"] = 0;
  return dump_json(j);
}

void expect_agreement(const json& mutated, const std::string& where) {
  CAPTURE(where);
  const auto quick = read_document_quickly(dump_json(mutated), true);
  if (!quick) return;
  std::string strict;
  CHECK_NOTHROW(strict = to_json_text(parse_document(for_the_strict(mutated), "t")));
  CHECK(to_json_text(*quick) == strict);
}

void mutate_everywhere(json& root, json& at, const std::string& where, int& count) {
  const json original = at;
  for (const json& other : {json(nullptr), json(true), json(7), json(-3), json(1.5), json("text"),
                            json::array(), json::array({1}), json::object(), json({{"a", 1}})}) {
    at = other;
    expect_agreement(root, where);
    ++count;
  }
  at = original;
  if (at.is_object()) {
    for (const auto& [key, value] : original.items()) {
      at.erase(key);
      expect_agreement(root, where + "." + key + " removed");
      at = original;
      mutate_everywhere(root, at[key], where + "." + key, count);
    }
  } else if (at.is_array()) {
    for (size_t i = 0; i < at.size(); ++i) mutate_everywhere(root, at[i], where + "[]", count);
  }
}

}  // namespace

TEST_CASE("an ordinary document is read quickly and the same") {
  const std::string text = document_text();
  const auto quick = read_document_quickly(text, true);
  REQUIRE(quick.has_value());
  CHECK(to_json_text(*quick) == text);
  CHECK(to_json_text(parse_document(for_the_strict(json::parse(text)), "t")) == text);
}

TEST_CASE("the document of these tests has every field that there is") {
  const std::string text = document_text();
  const std::set<std::string> names = names_of_schema();
  CHECK(names.contains("finding"));
  CHECK(names.contains("attempts"));
  CHECK(names.contains("say"));
  for (const std::string& name : names)
    CHECK_MESSAGE(text.find(fmt::format("\"{}\":", name)) != std::string::npos, name);
}

TEST_CASE("attempts that do not add up to the samples are refused") {
  json root = json::parse(document_text());
  json& attempts = root["records"][0]["metrics"][2]["attempts"];
  attempts[1]["n"] = 2;
  CHECK_FALSE(read_document_quickly(dump_json(root), true));
  CHECK_THROWS_AS(parse_document(dump_json(root), "t"), UsageError);
  attempts = json::array();
  CHECK_FALSE(read_document_quickly(dump_json(root), true));
}

TEST_CASE("both readers keep what is said by id, and read version 1, which has no ids") {
  json root = json::parse(document_text());
  const auto check = [](const Document& d) {
    CHECK(d.version == 2);
    const Record& r = d.records[0];
    CHECK(r.notes[1].in(Lang::zh) == "n1：按设定注入故障：hang");
    CHECK(r.notes[1] == "n1: a fault was injected on purpose: hang");
    CHECK(r.facts.at("pages").in(Lang::zh) == "已建议使用大页");
    CHECK(r.checks[0].detail.in(Lang::zh) == "按设定出错");
    CHECK(r.metrics[0].ceiling->how.in(Lang::zh) == "每 GPU 单向 450 GB/s");
    CHECK(std::get<Errored>(d.records[2].outcome).what.in(Lang::zh) == "按设定失败");
    CHECK(d.run.partial->in(Lang::zh) == "被中断");
    CHECK(d.hosts[0].parts[0].unavailable.at("y").message().id == "inventory.not_asked");
  };
  check(*read_document_quickly(dump_json(root), true));
  check(parse_document(for_the_strict(root), "t"));
  root["schema"] = "clusterbench.result/1";
  for (json& record : root["records"]) record.erase("say");
  CHECK(read_document_quickly(dump_json(root), true)->version == 1);
  const Document old = parse_document(for_the_strict(root), "t");
  CHECK(old.version == 1);
  CHECK(old.records[0].notes[1].in(Lang::zh) == "n1: a fault was injected on purpose: hang");
}

TEST_CASE("sentences that stand in each other too deep are refused by both readers") {
  json root = json::parse(document_text());
  json deep = {{"id", "fault.injected"}, {"args", {"x"}}};
  std::string text = "a fault was injected on purpose: x";
  const auto deepen = [&](int times) {
    for (int i = 0; i < times; ++i) {
      deep = {{"id", "list.clauses"}, {"args", {deep, "x"}}};
      text += "; x";
    }
    root["records"][0]["say"]["notes"]["1"] = deep;
    root["records"][0]["notes"][1] = text;
  };
  deepen(4);
  CHECK(read_document_quickly(dump_json(root), true).has_value());
  deepen(9);
  CHECK_FALSE(read_document_quickly(dump_json(root), true));
  CHECK_THROWS_WITH_AS(parse_document(dump_json(root), "t"), doctest::Contains("too deep"),
                       UsageError);
}

TEST_CASE("inventories can be passed over") {
  const auto quick = read_document_quickly(document_text(), false);
  REQUIRE(quick.has_value());
  CHECK(quick->hosts.empty());
  CHECK(quick->records.size() == 3);
}

TEST_CASE("whatever stands in any place, the quick reader takes nothing that the strict refuses") {
  json root = json::parse(document_text());
  int count = 0;
  mutate_everywhere(root, root, "$", count);
  CHECK(count > 1000);
}

TEST_CASE("repeated keys, torn and padded texts are left to the strict reader") {
  const std::string text = document_text();
  std::string twice = text;
  twice.insert(twice.find("\"run\""), "\"run\": {}, ");
  CHECK_FALSE(read_document_quickly(twice, true));
  CHECK_FALSE(read_document_quickly(text.substr(0, text.size() / 2), true));
  CHECK_FALSE(read_document_quickly(text + "{}", true));
  CHECK_FALSE(read_document_quickly("", true));
  CHECK_THROWS_AS(parse_document(twice, "t"), UsageError);
}

namespace {

// What the strict reader says of a document with one sentence changed; the quick one must step
// aside.
std::string refusal_of(const char* sentence, const json& other) {
  json document = json::parse(document_text());
  document.at(json::json_pointer(sentence)) = other;
  const std::string text = dump_json(document);
  CHECK_FALSE(read_document_quickly(text, true));
  try {
    parse_document(text, "forged.json");
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

void expect_refusal(const char* sentence, const std::string& place) {
  const std::string why = refusal_of(sentence, "nothing was wrong");
  CAPTURE(sentence);
  CHECK(why.find("forged.json") != std::string::npos);
  CHECK_MESSAGE(why.find(place) != std::string::npos, why);
  CHECK(why.find("\"nothing was wrong\", but its sentence ") != std::string::npos);
}

}  // namespace

// Whoever reads English would be told one thing, whoever reads Chinese another.
TEST_CASE("a text that its sentence does not say makes the document unusable, wherever it stands") {
  expect_refusal("/run/partial", "say: the text");
  expect_refusal("/hosts/0/parts/0/unavailable/y", "hosts[0]: parts[0]: unavailable.y: the text");
  expect_refusal("/records/0/metrics/0/ceiling/how", "records[0]: metrics[0]: say: the text");
  expect_refusal("/records/0/checks/0/detail", "records[0]: checks[0]: say: the text");
  expect_refusal("/records/0/facts/pages", "records[0]: facts.pages: the text");
  expect_refusal("/records/0/notes/1", "records[0]: notes[1]: the text");
  expect_refusal("/records/2/reason", "records[2]: reason: the text");
}

TEST_CASE("a sentence with other arguments than its text has makes the document unusable") {
  const char* how = "/records/0/metrics/0/ceiling/say/args/0";
  CHECK(refusal_of(how, {{"value", 9e11}, {"unit", "bytes_per_second"}}).find("900 GB/s") !=
        std::string::npos);
  CHECK_FALSE(refusal_of(how, {{"value", 4.5e11}, {"unit", "watts"}}).empty());
  CHECK_FALSE(refusal_of(how, "45 GB/s").empty());
  CHECK_FALSE(refusal_of(how, {{"id", "fake.failed"}, {"args", json::array()}}).empty());
  CHECK_FALSE(refusal_of("/records/0/notes/1", std::string(100000, 'x')).size() > 2000);
}

TEST_CASE("a sentence that this version cannot say is read, and its English text stands for it") {
  const char* say = "/records/2/say/reason";
  for (const json& newer :
       {json{{"id", "of.the_future"}, {"args", {"1"}}}, json{{"id", "said.of"}, {"args", {"1"}}},
        json{{"id", "said.of"},
             {"args", {"1", {{"id", "of.the_future"}, {"args", json::array()}}}}}}) {
    json document = json::parse(document_text());
    document.at(json::json_pointer(say)) = newer;
    const Document read = parse_document(dump_json(document), "newer.json");
    CHECK(read_document_quickly(dump_json(document), true));
    CHECK(std::get<Errored>(read.records[2].outcome).what.in(Lang::zh) == "fails as it was told");
  }
}

TEST_CASE("whatever stands in a sentence, its document is read again") {
  Document d;
  d.run.hosts = {"n1"};
  Record r{.case_name = "fake"};
  for (const std::string odd : {"\xff", "\xe4\xb8", "\xf0\x9f\x98", "\x1e", "{0}", "a\nb", ""}) {
    r.notes.push_back(said("said.of", odd, odd));
    r.notes.push_back(unpack_said(pack_said(said("said.because", said("said.of", odd, "x"), odd))));
  }
  for (const double value : {0.1 + 0.2, 1e300, -0.0, 5e-324, 4096.0, 123456789.123456789})
    r.notes.push_back(said("coll.per_gpu", Quantity{value, "bytes_per_second"}));
  d.records = {r};
  CHECK_NOTHROW(parse_document(to_json_text(d), "own.json"));
  CHECK(read_document_quickly(to_json_text(d), true));
}

TEST_CASE("figures that do not follow from the samples are refused, however small they are") {
  for (const double scale : {1e-9, 1e-6, 1.0, 1e12}) {
    Record r{.case_name = "gemm"};
    Metric m{.name = "seconds", .unit = "seconds", .entity = r.entity({"n1", "host", ""})};
    for (int i = 1; i <= 5; ++i) m.samples.add(i * scale);
    r.metrics = {m};
    Document d;
    d.run.hosts = {"n1"};
    d.records = {r};
    const json sound = json::parse(to_json_text(d));
    REQUIRE(read_document_quickly(dump_json(sound), true).has_value());
    for (const char* figure : {"min", "p05", "median", "mean", "max"}) {
      json changed = sound;
      json& value = changed["records"][0]["metrics"][0]["summary"][figure];
      REQUIRE_MESSAGE(value.is_number(), figure);
      value = value.get<double>() * 1.01;
      CHECK_FALSE_MESSAGE(read_document_quickly(dump_json(changed), true), figure);
    }
  }
}
