// The ordinary document in one pass; parse_document() decides on every other.
#include "core/json/document_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/json/quick_json.h"

namespace cb {
namespace {

using quick::count;
using quick::expect;
using quick::Field;
using quick::list;
using quick::Need;
using quick::number;
using quick::read_object;
using quick::text;
using quick::truth;
using quick::Unusual;
using quick::Value;
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

constexpr Field<Part> kPart[] = {
    {"id", [](Part& p, Value v) { p.id = text(v); }},
    {"kind", [](Part& p, Value v) { p.kind = text(v); }},
    {"attributes",
     [](Part& p, Value v) { p.attributes = quick::map<Attribute>(v, scalar<Attribute>); }},
    {"unavailable", [](Part& p, Value v) { p.unavailable = texts(v); }, Need::optional}};

Part part(Value v) {
  Part out;
  read_object(v, kPart, out);
  return out;
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

std::array<double, 2> interval(Value v) {
  const auto ends = list<double>(v, number);
  expect(ends.size() == 2 && ends[0] <= ends[1]);
  return {ends[0], ends[1]};
}

constexpr Field<Summary> kSummary[] = {
    {"n", [](Summary& s, Value v) { s.n = count(v); }},
    {"min", [](Summary& s, Value v) { s.min = number(v); }},
    {"p05", [](Summary& s, Value v) { s.p05 = number(v); }},
    {"median", [](Summary& s, Value v) { s.median = number(v); }},
    {"p95", [](Summary& s, Value v) { s.p95 = number(v); }},
    {"p99", [](Summary& s, Value v) { s.p99 = number(v); }},
    {"max", [](Summary& s, Value v) { s.max = number(v); }},
    {"mean", [](Summary& s, Value v) { s.mean = number(v); }},
    {"ci95", [](Summary& s, Value v) { s.ci95 = interval(v); }, Need::optional},
    {"stdev", [](Summary& s, Value v) { s.stdev = number(v); }, Need::optional}};

Summary summary(Value v) {
  Summary out;
  read_object(v, kSummary, out);
  return out;
}

// What the file says of its samples must follow from them; as in the strict reader, of the
// deviation and the interval it counts only that they are there.
void expect_same(const Summary& s, const Summary& ours) {
  const auto same = [](double theirs, double own) {
    expect(std::abs(theirs - own) <= 1e-9 * std::max(std::abs(theirs), std::abs(own)));
  };
  expect(s.n == ours.n && s.stdev.has_value() == ours.stdev.has_value() &&
         s.ci95.has_value() == ours.ci95.has_value());
  same(s.min, ours.min);
  same(s.p05, ours.p05);
  same(s.median, ours.median);
  same(s.p95, ours.p95);
  same(s.p99, ours.p99);
  same(s.max, ours.max);
  same(s.mean, ours.mean);
}

Samples samples_of(Value v) {
  const auto values = list<double>(v, number);
  Samples out(std::max(values.size(), Samples::kDefaultBound));
  for (const double sample : values) out.add(sample);
  return out;
}

struct StatedHistogram {
  Histogram::Buckets buckets;
  Histogram::Exact exact{};
};

std::pair<uint32_t, uint64_t> bucket(Value v) {
  const auto both = list<size_t>(v, count);
  expect(both.size() == 2 && both[0] <= std::numeric_limits<uint32_t>::max());
  return {static_cast<uint32_t>(both[0]), uint64_t{both[1]}};
}

constexpr Field<StatedHistogram> kHistogram[] = {
    {"buckets", [](StatedHistogram& h,
                   Value v) { h.buckets = list<std::pair<uint32_t, uint64_t>>(v, bucket); }},
    {"max", [](StatedHistogram& h, Value v) { h.exact.max = number(v); }},
    {"min", [](StatedHistogram& h, Value v) { h.exact.min = number(v); }},
    {"sum", [](StatedHistogram& h, Value v) { h.exact.sum = number(v); }},
    {"sum_of_squares", [](StatedHistogram& h, Value v) { h.exact.sum_of_squares = number(v); }}};

Samples histogram_of(Value v) {
  StatedHistogram h;
  read_object(v, kHistogram, h);
  return Samples::from_histogram(Histogram::restore(h.buckets, h.exact));
}

constexpr Field<Ceiling> kCeiling[] = {{"how", [](Ceiling& c, Value v) { c.how = text(v); }},
                                       {"value", [](Ceiling& c, Value v) { c.value = number(v); }}};

Ceiling ceiling(Value v) {
  Ceiling out;
  read_object(v, kCeiling, out);
  expect(out.value > 0);
  return out;
}

Better better(Value v) {
  const std::string_view word = v.get_string();
  expect(word == "higher" || word == "lower");
  return word == "higher" ? Better::higher : Better::lower;
}

struct StatedMetric {
  Metric metric;
  Summary stated = {};
};

void metric_samples(StatedMetric& m, Samples samples) {
  expect(m.metric.samples.empty() && !samples.empty());
  m.metric.samples = std::move(samples);
}

std::vector<Summary> attempts(Value v) {
  auto out = list<Summary>(v, summary);
  expect(!out.empty());
  return out;
}

// Each sample belongs to one of the attempts.
bool adds_up(const Metric& m) {
  uint64_t n = 0;
  for (const Summary& s : m.attempts) n += s.n;
  return m.attempts.empty() || n == m.samples.count();
}

constexpr Field<StatedMetric> kMetric[] = {
    {"name", [](StatedMetric& m, Value v) { m.metric.name = text(v); }},
    {"unit", [](StatedMetric& m, Value v) { m.metric.unit = text(v); }},
    {"better", [](StatedMetric& m, Value v) { m.metric.better = better(v); }},
    {"entity", [](StatedMetric& m, Value v) { m.metric.entity = count(v); }},
    {"summary", [](StatedMetric& m, Value v) { m.stated = summary(v); }},
    {"attempts", [](StatedMetric& m, Value v) { m.metric.attempts = attempts(v); }, Need::optional},
    {"ceiling", [](StatedMetric& m, Value v) { m.metric.ceiling = ceiling(v); }, Need::optional},
    {"samples", [](StatedMetric& m, Value v) { metric_samples(m, samples_of(v)); }, Need::optional},
    {"histogram", [](StatedMetric& m, Value v) { metric_samples(m, histogram_of(v)); },
     Need::optional}};

Metric metric(Value v) {
  StatedMetric out;
  read_object(v, kMetric, out);
  expect(!out.metric.samples.empty() && adds_up(out.metric));
  expect_same(out.stated, out.metric.samples.summary());
  return std::move(out.metric);
}

constexpr Field<Check> kCheck[] = {
    {"name", [](Check& c, Value v) { c.name = text(v); }},
    {"passed", [](Check& c, Value v) { c.passed = truth(v); }},
    {"entity", [](Check& c, Value v) { c.entity = count(v); }},
    {"detail", [](Check& c, Value v) { c.detail = text(v); }, Need::optional},
    {"finding", [](Check& c, Value v) { c.finding = truth(v); }, Need::optional},
    {"limit", [](Check& c, Value v) { c.limit = number(v); }, Need::optional},
    {"value", [](Check& c, Value v) { c.value = number(v); }, Need::optional}};

Check check(Value v) {
  Check out;
  read_object(v, kCheck, out);
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

struct StatedRecord {
  Record record;
  std::string outcome;
  std::optional<std::string> reason = {}, where = {};
};

Outcome outcome_of(const StatedRecord& r) {
  if (r.outcome == "measured") return Measured{};
  expect(r.reason.has_value());
  if (r.outcome == "skipped") return Skipped{*r.reason};
  expect(r.outcome == "errored" && r.where);
  return Errored{*r.where, *r.reason};
}

constexpr Field<StatedRecord> kRecord[] = {
    {"case", [](StatedRecord& r, Value v) { r.record.case_name = text(v); }},
    {"params", [](StatedRecord& r, Value v) { r.record.params = params(v); }},
    {"facts", [](StatedRecord& r, Value v) { r.record.facts = texts(v); }},
    {"notes", [](StatedRecord& r, Value v) { r.record.notes = list<std::string>(v, text); }},
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

constexpr Field<RunInfo> kRun[] = {
    {"id", [](RunInfo& r, Value v) { r.id = text(v); }},
    {"argv", [](RunInfo& r, Value v) { r.argv = list<std::string>(v, text); }},
    {"environment", [](RunInfo& r, Value v) { r.environment = texts(v); }},
    {"hosts", [](RunInfo& r, Value v) { r.hosts = list<std::string>(v, text); }},
    {"ranks", [](RunInfo& r, Value v) { r.ranks = ranks(v); }},
    {"launcher", [](RunInfo& r, Value v) { r.launcher = text(v); }},
    {"started", [](RunInfo& r, Value v) { r.started = text(v); }},
    {"ended", [](RunInfo& r, Value v) { r.ended = text(v); }},
    {"partial", [](RunInfo& r, Value v) { r.partial = text(v); }, Need::optional}};

struct Reading {
  Document document;
  bool with_hosts = true;
};

void read_hosts(Reading& r, Value v) {
  if (r.with_hosts) r.document.hosts = list<HostInventory>(v, inventory);
}

constexpr Field<Reading> kDocument[] = {
    {"schema",
     [](Reading&, Value v) {
       expect(text(v) == fmt::format("{}/{}", kResultSchema, kResultVersion));
     }},
    {"tool", [](Reading& r, Value v) { read_object(v, kTool, r.document.tool); }},
    {"run", [](Reading& r, Value v) { read_object(v, kRun, r.document.run); }},
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
