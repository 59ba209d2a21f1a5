// The ordinary document in one pass; parse_document() decides on every other.
#include "core/json/document_reader.h"

#include <limits>

#include <fmt/format.h>

#include "core/json/quick_json.h"
#include "core/json/quick_metric.h"
#include "core/json/quick_said.h"

namespace cb {
namespace {

using quick::agreeing;
using quick::count;
using quick::expect;
using quick::Field;
using quick::list;
using quick::message;
using quick::messages;
using quick::metric;
using quick::Need;
using quick::number;
using quick::read_object;
using quick::set_say;
using quick::set_text;
using quick::text;
using quick::truth;
using quick::Unusual;
using quick::Value;
using quick::with_says;
using simdjson::dom::element_type;

std::map<std::string, std::string> texts(Value v) { return quick::map<std::string>(v, text); }

template <typename Variant>
Variant scalar(Value v) {
  switch (v.type()) {
    case element_type::BOOL:
      return Variant(truth(v));
    case element_type::STRING:
      return Variant(text(v));
    case element_type::INT64:
      return Variant(int64_t(v.get_int64()));
    case element_type::DOUBLE:
      return Variant(number(v));
    default:
      throw Unusual();
  }
}

std::vector<ParamValue> param(Value v) {
  if (v.type() != element_type::ARRAY) return {scalar<ParamValue>(v)};
  auto values = list<ParamValue>(v, scalar<ParamValue>);
  expect(!values.empty());
  return values;
}

Params params(Value v) {
  Params out;
  for (auto& [name, values] : quick::map<std::vector<ParamValue>>(v, param))
    out.set_list(name, values);
  return out;
}

struct StatedPart {
  Part part;
  std::map<std::string, std::string> unavailable = {};
  std::map<std::string, Message> says = {};
};

constexpr Field<StatedPart> kPart[] = {
    {"id", [](StatedPart& p, Value v) { p.part.id = text(v); }},
    {"kind", [](StatedPart& p, Value v) { p.part.kind = text(v); }},
    {"attributes",
     [](StatedPart& p, Value v) {
       p.part.attributes = quick::map<Attribute>(v, scalar<Attribute>);
     }},
    {"unavailable", [](StatedPart& p, Value v) { p.unavailable = texts(v); }, Need::optional},
    {"say", [](StatedPart& p, Value v) { p.says = messages(v); }, Need::optional}};

Part part(Value v) {
  StatedPart out;
  read_object(v, kPart, out);
  out.part.unavailable = with_says(out.unavailable, std::move(out.says));
  return std::move(out.part);
}

constexpr Field<HostInventory> kHost[] = {
    {"host", [](HostInventory& h, Value v) { h.host = text(v); }},
    {"parts", [](HostInventory& h, Value v) { h.parts = list<Part>(v, part); }}};

HostInventory inventory(Value v) {
  HostInventory out;
  read_object(v, kHost, out);
  return out;
}

constexpr Field<Entity> kEntity[] = {
    {"host", [](Entity& e, Value v) { e.host = text(v); }},
    {"kind", [](Entity& e, Value v) { e.kind = text(v); }},
    {"id", [](Entity& e, Value v) { e.id = text(v); }},
    {"peer", [](Entity& e, Value v) { e.peer = text(v); }, Need::optional}};

Entity entity(Value v) {
  Entity out;
  read_object(v, kEntity, out);
  return out;
}

constexpr Field<Check> kCheck[] = {
    {"name", [](Check& c, Value v) { c.name = text(v); }},
    {"passed", [](Check& c, Value v) { c.passed = truth(v); }},
    {"entity", [](Check& c, Value v) { c.entity = count(v); }},
    {"detail", [](Check& c, Value v) { set_text(c.detail, text(v)); }, Need::optional},
    {"say", [](Check& c, Value v) { set_say(c.detail, message(v)); }, Need::optional},
    {"finding", [](Check& c, Value v) { c.finding = truth(v); }, Need::optional},
    {"limit", [](Check& c, Value v) { c.limit = number(v); }, Need::optional},
    {"value", [](Check& c, Value v) { c.value = number(v); }, Need::optional}};

Check check(Value v) {
  Check out;
  read_object(v, kCheck, out);
  out.detail = agreeing(std::move(out.detail));
  return out;
}

constexpr Field<Series> kSeries[] = {
    {"name", [](Series& s, Value v) { s.name = text(v); }},
    {"unit", [](Series& s, Value v) { s.unit = text(v); }},
    {"entity", [](Series& s, Value v) { s.entity = count(v); }},
    {"at", [](Series& s, Value v) { s.at = list<double>(v, number); }},
    {"values", [](Series& s, Value v) { s.values = list<double>(v, number); }}};

Series series(Value v) {
  Series out;
  read_object(v, kSeries, out);
  expect(out.at.size() == out.values.size());
  return out;
}

constexpr Field<Delta> kDelta[] = {{"name", [](Delta& d, Value v) { d.name = text(v); }},
                                   {"unit", [](Delta& d, Value v) { d.unit = text(v); }},
                                   {"entity", [](Delta& d, Value v) { d.entity = count(v); }},
                                   {"before", [](Delta& d, Value v) { d.before = number(v); }},
                                   {"after", [](Delta& d, Value v) { d.after = number(v); }}};

Delta delta(Value v) {
  Delta out;
  read_object(v, kDelta, out);
  return out;
}

constexpr Field<Telemetry> kTelemetry[] = {
    {"deltas", [](Telemetry& t, Value v) { t.deltas = list<Delta>(v, delta); }},
    {"series", [](Telemetry& t, Value v) { t.series = list<Series>(v, series); }}};

void expect_entities(const Record& r) {
  const size_t n = r.entities.size();
  for (const Metric& m : r.metrics) expect(m.entity < n);
  for (const Check& c : r.checks) expect(c.entity < n);
  for (const Series& s : r.telemetry.series) expect(s.entity < n);
  for (const Delta& d : r.telemetry.deltas) expect(d.entity < n);
}

// What a record says, by id: beside its reason, its facts and its notes.
struct StatedSay {
  Message reason = {};
  std::map<std::string, Message> facts = {};
  std::map<std::string, Message> notes = {};  // by the note's place in the list
};

constexpr Field<StatedSay> kSay[] = {
    {"reason", [](StatedSay& s, Value v) { s.reason = message(v); }, Need::optional},
    {"facts", [](StatedSay& s, Value v) { s.facts = messages(v); }, Need::optional},
    {"notes", [](StatedSay& s, Value v) { s.notes = messages(v); }, Need::optional}};

struct StatedRecord {
  Record record;
  std::string outcome;
  std::optional<std::string> reason = {}, where = {};
  std::map<std::string, std::string> facts = {};
  StatedSay say = {};
};

Outcome outcome_of(const StatedRecord& r) {
  if (r.outcome == "measured") return Measured{};
  expect(r.reason.has_value());
  Said reason = agreeing(Said(*r.reason, r.say.reason));
  if (r.outcome == "skipped") return Skipped{std::move(reason)};
  expect(r.outcome == "errored" && r.where);
  return Errored{*r.where, std::move(reason)};
}

void add_notes_say(std::vector<Said>& notes, const std::map<std::string, Message>& say) {
  for (size_t i = 0; i < notes.size() && !say.empty(); ++i) {
    if (const auto found = say.find(std::to_string(i)); found != say.end())
      notes[i] = agreeing(Said(notes[i].text(), found->second));
  }
}

constexpr Field<StatedRecord> kRecord[] = {
    {"case", [](StatedRecord& r, Value v) { r.record.case_name = text(v); }},
    {"params", [](StatedRecord& r, Value v) { r.record.params = params(v); }},
    {"facts", [](StatedRecord& r, Value v) { r.facts = texts(v); }},
    {"notes", [](StatedRecord& r, Value v) { r.record.notes = list<Said>(v, text); }},
    {"say", [](StatedRecord& r, Value v) { read_object(v, kSay, r.say); }, Need::optional},
    {"entities", [](StatedRecord& r, Value v) { r.record.entities = list<Entity>(v, entity); }},
    {"metrics", [](StatedRecord& r, Value v) { r.record.metrics = list<Metric>(v, metric); }},
    {"checks", [](StatedRecord& r, Value v) { r.record.checks = list<Check>(v, check); }},
    {"telemetry", [](StatedRecord& r, Value v) { read_object(v, kTelemetry, r.record.telemetry); }},
    {"started", [](StatedRecord& r, Value v) { r.record.started = text(v); }},
    {"ended", [](StatedRecord& r, Value v) { r.record.ended = text(v); }},
    {"outcome", [](StatedRecord& r, Value v) { r.outcome = text(v); }},
    {"reason", [](StatedRecord& r, Value v) { r.reason = text(v); }, Need::optional},
    {"where", [](StatedRecord& r, Value v) { r.where = text(v); }, Need::optional}};

Record record(Value v) {
  StatedRecord out;
  read_object(v, kRecord, out);
  out.record.outcome = outcome_of(out);
  out.record.facts = with_says(out.facts, std::move(out.say.facts));
  add_notes_say(out.record.notes, out.say.notes);
  expect(out.record.measured() || out.record.metrics.empty());
  expect_entities(out.record);
  return std::move(out.record);
}

constexpr Field<ToolInfo> kTool[] = {{"version", [](ToolInfo& t, Value v) { t.version = text(v); }},
                                     {"commit", [](ToolInfo& t, Value v) { t.commit = text(v); }},
                                     {"dirty", [](ToolInfo& t, Value v) { t.dirty = truth(v); }},
                                     {"build", [](ToolInfo& t, Value v) { t.build = texts(v); }}};

int ranks(Value v) {
  const size_t n = count(v);
  expect(n >= 1 && n <= static_cast<size_t>(std::numeric_limits<int>::max()));
  return static_cast<int>(n);
}

Said& partial_of(RunInfo& r) { return r.partial ? *r.partial : r.partial.emplace(); }

constexpr Field<RunInfo> kRun[] = {
    {"id", [](RunInfo& r, Value v) { r.id = text(v); }},
    {"argv", [](RunInfo& r, Value v) { r.argv = list<std::string>(v, text); }},
    {"environment", [](RunInfo& r, Value v) { r.environment = texts(v); }},
    {"hosts", [](RunInfo& r, Value v) { r.hosts = list<std::string>(v, text); }},
    {"ranks", [](RunInfo& r, Value v) { r.ranks = ranks(v); }},
    {"launcher", [](RunInfo& r, Value v) { r.launcher = text(v); }},
    {"started", [](RunInfo& r, Value v) { r.started = text(v); }},
    {"ended", [](RunInfo& r, Value v) { r.ended = text(v); }},
    {"partial", [](RunInfo& r, Value v) { set_text(partial_of(r), text(v)); }, Need::optional},
    {"say", [](RunInfo& r, Value v) { set_say(partial_of(r), message(v)); }, Need::optional}};

void read_run(Value v, RunInfo& out) {
  read_object(v, kRun, out);
  if (out.partial) out.partial = agreeing(std::move(*out.partial));
}

struct Reading {
  Document document;
  bool with_hosts = true;
};

void read_hosts(Reading& r, Value v) {
  if (r.with_hosts) r.document.hosts = list<HostInventory>(v, inventory);
}

int version(const std::string& schema) {
  int out = kResultVersion;
  while (out > 0 && schema != fmt::format("{}/{}", kResultSchema, out)) --out;
  expect(out > 0);
  return out;
}

constexpr Field<Reading> kDocument[] = {
    {"schema", [](Reading& r, Value v) { r.document.version = version(text(v)); }},
    {"tool", [](Reading& r, Value v) { read_object(v, kTool, r.document.tool); }},
    {"run", [](Reading& r, Value v) { read_run(v, r.document.run); }},
    {"hosts", read_hosts},
    {"records", [](Reading& r, Value v) { r.document.records = list<Record>(v, record); }}};

}  // namespace

std::optional<Document> read_document_quickly(std::string_view text, bool hosts) {
  try {
    // Its memory is as large as the largest document and is used for the next one too.
    thread_local simdjson::dom::parser parser;
    Reading reading{.document = {}, .with_hosts = hosts};
    read_object(parser.parse(text.data(), text.size()).value(), kDocument, reading);
    return std::move(reading.document);
  } catch (const Unusual&) {
    return std::nullopt;
  } catch (const std::exception&) {  // simdjson's, and what our own values refuse
    return std::nullopt;
  }
}

}  // namespace cb
