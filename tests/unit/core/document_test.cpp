// What is read is what stands in the document, to the last field, or nothing is read.
#include "core/result.h"

#include <cstdlib>
#include <fstream>
#include <set>

#include <doctest/doctest.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json/json_text.h"
#include "core/json/said_json.h"

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

Document document_from(const json& j) { return parse_document(dump_json(j), "t"); }

// Why a document is refused; empty: it is read.
std::string why_unusable(const std::string& text) {
  try {
    (void)parse_document(text, "t");
    return "";
  } catch (const UsageError& e) {
    return e.problems().list.at(0).what;
  }
}

std::string why_unusable(const json& j) { return why_unusable(dump_json(j)); }

json without_says(json j) {
  if (j.is_object()) j.erase("say");
  if (j.is_object() && j.value("unavailable", json(0)).empty()) j.erase("unavailable");
  for (json& inner : j) {
    if (inner.is_structured()) inner = without_says(inner);
  }
  return j;
}

// A parameter's list of one value as that value.
json single_values(json j) {
  for (json& inner : j) {
    if (inner.is_structured()) inner = single_values(inner);
  }
  return j.is_array() && j.size() == 1 && j[0].is_primitive() ? json(j[0]) : j;
}

// What a change at this place may lose: a deviation and an interval are computed again, a list of
// one value is that value, and a sentence without its text and what is empty are dropped.
bool may_differ(const json& written, const json& read, const std::string& where) {
  const auto has = [&](const char* part) { return where.find(part) != std::string::npos; };
  if (has(".summary.stdev") || has(".summary.ci95")) return true;
  if (has(".params.")) return single_values(written) == single_values(read);
  return (has(".say") || has(".facts") || has(".notes") || has(".unavailable")) &&
         without_says(written) == without_says(read);
}

// A changed document is refused, or read and written as it stands.
struct Mutations {
  int count = 0, taken = 0;
  std::set<std::string> refusals = {};

  void expect(const json& mutated, const std::string& where) {
    CAPTURE(where);
    ++count;
    if (const std::string why = why_unusable(mutated); !why.empty()) {
      refusals.insert(why);
      return;
    }
    ++taken;
    const json written = json::parse(to_json_text(document_from(mutated)));
    CHECK((written == mutated || may_differ(written, mutated, where)));
  }

  void everywhere(json& root, json& at, const std::string& where) {
    const json original = at;
    for (const json& other : {json(nullptr), json(true), json(7), json(-3), json(1.5), json("text"),
                              json::array(), json::array({1}), json::object(), json({{"a", 1}})}) {
      at = other;
      expect(root, where);
    }
    at = original;
    if (at.is_object()) {
      for (const auto& [key, value] : original.items()) {
        at.erase(key);
        expect(root, where + "." + key + " removed");
        at = original;
        everywhere(root, at[key], where + "." + key);
      }
    } else if (at.is_array()) {
      for (size_t i = 0; i < at.size(); ++i)
        everywhere(root, at[i], where + "[" + std::to_string(i) + "]");
    }
  }
};

}  // namespace

TEST_CASE("a document is written as it was read") {
  const std::string text = document_text();
  CHECK(to_json_text(parse_document(text, "t")) == text);
}

TEST_CASE("a refusal says where and what, of the table of fields") {
  const json sound = json::parse(document_text());
  const auto changed = [&](const char* at, const json& value) {
    json j = sound;
    j.at(json::json_pointer(at)) = value;
    return why_unusable(j);
  };
  const auto without = [&](const char* object, const char* key) {
    json j = sound;
    j.at(json::json_pointer(object)).erase(key);
    return why_unusable(j);
  };
  const std::string begin = "is not a usable result document: ";
  CHECK(without("/records/0/metrics/0", "unit") == begin + "records[0].metrics[0].unit is missing");
  CHECK(changed("/records/0/metrics/1/unit", 7) ==
        begin + "records[0].metrics[1].unit is a number, not a text");
  CHECK(changed("/records/0/metrics", json::object()) ==
        begin + "records[0].metrics is an object, not a list");
  CHECK(changed("/records/0/checks/0/passed", "yes") ==
        begin + "records[0].checks[0].passed is a text, not true or false");
  CHECK(changed("/records/0/metrics/0/entity", 1.5) ==
        begin + "records[0].metrics[0].entity is 1.5, not a whole number");
  CHECK(changed("/records/0/metrics/0/entity", 1) ==
        begin + "records[0].metrics[0].entity is 1, which is absent: the record has 1");
  CHECK(changed("/records/0/metrics/0/samples/2", nullptr) ==
        begin + "records[0].metrics[0].samples[2] is null, not a number");
  CHECK(changed("/records/0/metrics/0/summary/median", 1) ==
        begin + "records[0].metrics[0].summary.median does not follow from the samples");
  CHECK(changed("/records/0/metrics/1/histogram/buckets/0/1", 0) ==
        begin + "records[0].metrics[1].histogram cannot be: histogram: a bucket is empty");
  CHECK(changed("/records/0/params/op", json::array()) ==
        begin + "records[0].params.op is an empty list");
  CHECK(changed("/hosts/0/parts/0/attributes/count", json::array()) ==
        begin +
            "hosts[0].parts[0].attributes.count is a list, neither a number, a text nor a truth "
            "value");
  CHECK(changed("/run/ranks", 0) == begin + "run.ranks is not a number of processes");
  CHECK(changed("/tool", 7) == begin + "tool is a number, not an object");
  CHECK(without("/records/1", "reason") == begin + "records[1].reason is missing");
  CHECK(without("/records/2", "where") == begin + "records[2].where is missing");
}

TEST_CASE(
    "what a later version adds is passed over, wherever it stands, and a key of it twice is not") {
  const json sound = json::parse(document_text());
  for (const char* at :
       {"", "/tool", "/run", "/hosts/0", "/hosts/0/parts/0", "/records/0", "/records/0/entities/0",
        "/records/0/metrics/0", "/records/0/metrics/0/summary", "/records/0/metrics/0/ceiling",
        "/records/0/metrics/0/ceiling/say", "/records/0/checks/0", "/records/0/telemetry",
        "/records/0/telemetry/series/0"}) {
    json newer = sound;
    newer.at(json::json_pointer(at))["zz_later"] = {{"a", {json{{"b", 1}}}}};
    CHECK_MESSAGE(to_json_text(document_from(newer)) == document_text(), at);
    std::string twice = newer.dump();
    twice.replace(twice.find("{\"b\":1}"), 7, "{\"b\":1,\"b\":1}");
    CHECK_MESSAGE(why_unusable(twice).find("zz_later.a[0].b stands twice") != std::string::npos,
                  why_unusable(twice));
  }
}

TEST_CASE("the order of the keys does not matter, and lists may stand before what they need") {
  const json sound = json::parse(document_text());
  const auto reversed = [](const json& j, const auto& self) -> std::string {
    if (!j.is_structured()) return j.dump();
    std::string out;
    for (const auto& [key, value] : j.items()) {
      const std::string item = (j.is_object() ? json(key).dump() + ":" : "") + self(value, self);
      out = j.is_object() ? item + (out.empty() ? "" : "," + out)
                          : (out.empty() ? "" : out + ",") + item;
    }
    return j.is_object() ? "{" + out + "}" : "[" + out + "]";
  };
  CHECK(to_json_text(parse_document(reversed(sound, reversed), "t")) == document_text());
}

TEST_CASE("a document may begin with a byte order mark, and its depth has a limit") {
  CHECK(why_unusable("\xef\xbb\xbf" + document_text()).empty());
  for (const int levels : {62, 63, 64, 65, 100000}) {
    std::string deep = document_text();
    deep.insert(1, "\"a\":" + std::string(static_cast<size_t>(levels), '[') +
                       std::string(static_cast<size_t>(levels), ']') + ",");
    CHECK(why_unusable(deep) == (levels < 64 ? "" : "is nested too deeply"));
  }
}

TEST_CASE("texts and numbers that are none are refused") {
  const auto with_note = [](const std::string& note) {
    std::string text = document_text();
    return text.replace(text.find("\"note\""), 6, note);
  };
  CHECK(why_unusable(with_note("\"\\u00e9\"")).empty());
  for (const char* bad : {"\"\xff\"", "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800x\"", "\"\\x\"",
                          "\"\n\"", "NaN", "-", "01", "1e999", "tru"})
    CHECK_MESSAGE(!why_unusable(with_note(bad)).empty(), bad);
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

TEST_CASE("a check that passed although something was wrong is refused") {
  json root = json::parse(document_text());
  json& check = root["records"][0]["checks"][0];
  check = {{"name", "data"}, {"passed", true}, {"value", 5}, {"limit", 0}, {"entity", 0}};
  CHECK(why_unusable(root) ==
        "is not a usable result document: records[0].checks[0].passed is true, though its value is "
        "above its limit of 0");
  check["value"] = 0;
  CHECK(why_unusable(root).empty());
  check["value"] = 5;
  check["limit"] = 3;  // a least value, such as evidence of the storage
  CHECK(why_unusable(root).empty());
}

TEST_CASE("attempts that do not add up to the samples are refused") {
  json root = json::parse(document_text());
  json& attempts = root["records"][0]["metrics"][2]["attempts"];
  attempts[1]["n"] = 2;
  CHECK(why_unusable(root).find("records[0].metrics[2].attempts do not add up") !=
        std::string::npos);
  attempts = json::array();
  CHECK_FALSE(why_unusable(root).empty());
}

TEST_CASE("what is said by id is kept, and version 1 is read, which has no ids") {
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
  check(document_from(root));
  root["schema"] = "clusterbench.result/1";
  for (json& record : root["records"]) record.erase("say");
  const Document old = document_from(root);
  CHECK(old.version == 1);
  CHECK(old.records[0].notes[1].in(Lang::zh) == "n1: a fault was injected on purpose: hang");
}

TEST_CASE("sentences that stand in each other too deep are refused") {
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
  CHECK(why_unusable(root).empty());
  deepen(7);
  CHECK(why_unusable(root).empty());
  deepen(1);
  CHECK(why_unusable(root).find("too deep") != std::string::npos);
}

TEST_CASE("inventories can be passed over") {
  const Document read = parse_document(document_text(), "t", false);
  CHECK(read.hosts.empty());
  CHECK(read.records.size() == 3);
}

TEST_CASE("whatever stands in any place, it is refused, or read and written as it stands") {
  json root = json::parse(document_text());
  Mutations m;
  m.everywhere(root, root, "$");
  CHECK(m.count > 1000);
  CHECK(m.taken > 50);
  for (const std::string& why : m.refusals) CHECK_MESSAGE(why.starts_with("is "), why);
}

TEST_CASE("repeated keys, torn and padded texts are refused") {
  const std::string text = document_text();
  std::string twice = text;
  twice.insert(twice.find("\"run\""), "\"run\": {}, ");
  CHECK(why_unusable(twice) == "is not a usable result document: run stands twice");
  twice = text;
  twice.insert(twice.find("\"pages\""), "\"pages\": \"x\", ");
  CHECK(why_unusable(twice) ==
        "is not a usable result document: records[0].facts.pages stands twice");
  for (size_t n = 0; n < text.size() - 2; ++n)
    CHECK(why_unusable(text.substr(0, n)) ==
          "the JSON ends too early: the file is truncated or empty");
  CHECK(why_unusable(text + "{}") == "is not valid JSON here");
}

namespace {

std::string refusal_of(const char* sentence, const json& other) {
  json document = json::parse(document_text());
  document.at(json::json_pointer(sentence)) = other;
  return why_unusable(document);
}

void expect_refusal(const char* sentence, const std::string& place) {
  const std::string why = refusal_of(sentence, "nothing was wrong");
  CAPTURE(sentence);
  CHECK_MESSAGE(why.find(place) != std::string::npos, why);
  CHECK(why.find("\"nothing was wrong\", but its sentence ") != std::string::npos);
}

}  // namespace

// Whoever reads English would be told one thing, whoever reads Chinese another.
TEST_CASE("a text that its sentence does not say makes the document unusable, wherever it stands") {
  expect_refusal("/run/partial", "run.say does");
  expect_refusal("/hosts/0/parts/0/unavailable/y", "hosts[0].parts[0].say.y does");
  expect_refusal("/records/0/metrics/0/ceiling/how", "records[0].metrics[0].ceiling.say does");
  expect_refusal("/records/0/checks/0/detail", "records[0].checks[0].say does");
  expect_refusal("/records/0/facts/pages", "records[0].say.facts.pages does");
  expect_refusal("/records/0/notes/1", "records[0].say.notes.1 does");
  expect_refusal("/records/2/reason", "records[2].say.reason does");
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
    REQUIRE(why_unusable(sound).empty());
    for (const char* figure : {"min", "p05", "median", "mean", "max"}) {
      json changed = sound;
      json& value = changed["records"][0]["metrics"][0]["summary"][figure];
      REQUIRE_MESSAGE(value.is_number(), figure);
      value = value.get<double>() * 1.01;
      CHECK_FALSE_MESSAGE(why_unusable(changed).empty(), figure);
    }
  }
}
