#include "core/json/record_json.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/json/json_read.h"
#include "core/json/said_json.h"

namespace cb {
namespace {

using nlohmann::json;

template <typename T, typename F>
json list_to_json(const std::vector<T>& list, F convert) {
  json out = json::array();
  for (const T& item : list) out.push_back(convert(item));
  return out;
}

std::optional<double> optional_number(const json& j, const char* key) {
  if (!j.contains(key)) return std::nullopt;
  return finite_number(j.at(key), key);
}

size_t entity_index(const json& j) {
  return static_cast<size_t>(whole_count(j.at("entity"), "entity"));
}

json entity_to_json(const Entity& e) {
  json out = {{"host", e.host}, {"kind", e.kind}, {"id", e.id}};
  if (e.peer) out["peer"] = *e.peer;
  return out;
}

Entity entity_from_json(const json& j) {
  Entity e{text_at(j, "host"), text_at(j, "kind"), text_at(j, "id")};
  if (j.contains("peer")) e.peer = text_at(j, "peer");
  return e;
}

json summary_to_json(const Summary& s) {
  json out = {{"n", s.n},     {"min", s.min}, {"p05", s.p05}, {"median", s.median},
              {"p95", s.p95}, {"p99", s.p99}, {"max", s.max}, {"mean", s.mean}};
  if (s.stdev) out["stdev"] = *s.stdev;
  if (s.ci95) out["ci95"] = *s.ci95;
  return out;
}

json histogram_to_json(const Histogram& h) {
  const Histogram::Exact exact = h.exact();
  return {{"buckets", h.buckets()},
          {"min", exact.min},
          {"max", exact.max},
          {"sum", exact.sum},
          {"sum_of_squares", exact.sum_of_squares}};
}

std::pair<uint32_t, uint64_t> bucket_from_json(const json& j) {
  if (!j.is_array() || j.size() != 2) throw Error("is not a pair of bucket and count");
  const uint64_t bucket = whole_count(j[0], "a bucket");
  if (bucket > std::numeric_limits<uint32_t>::max()) throw Error("a bucket is out of range");
  return {static_cast<uint32_t>(bucket), whole_count(j[1], "a count")};
}

Histogram histogram_from_json(const json& j) {
  return Histogram::restore(
      read_each<std::pair<uint32_t, uint64_t>>(j, "buckets", bucket_from_json),
      {finite_number(j.at("min"), "min"), finite_number(j.at("max"), "max"),
       finite_number(j.at("sum"), "sum"), finite_number(j.at("sum_of_squares"), "sum_of_squares")});
}

// The summary is written for readers of the file; ours is computed from the samples again. Where
// the two differ somebody changed one of them.
void require_same_summary(const json& j, const Summary& s) {
  const auto same = [&](const char* key, double ours) {
    const double theirs = finite_number(j.at(key), key);
    if (std::abs(theirs - ours) > 1e-9 * std::max(std::abs(theirs), std::abs(ours)))
      throw Error(fmt::format("summary.{} does not follow from the samples", key));
  };
  if (whole_count(j.at("n"), "summary.n") != s.n)
    throw Error("summary.n does not follow from the samples");
  same("min", s.min);
  same("p05", s.p05);
  same("median", s.median);
  same("p95", s.p95);
  same("p99", s.p99);
  same("max", s.max);
  same("mean", s.mean);
  if (j.contains("stdev") != s.stdev.has_value() || j.contains("ci95") != s.ci95.has_value())
    throw Error("summary.stdev and summary.ci95 do not follow from the number of samples");
  if (s.stdev) finite_number(j["stdev"], "stdev");
  if (s.ci95 && (list_at(j, "ci95").size() != 2 ||
                 finite_number(j["ci95"][0], "ci95") > finite_number(j["ci95"][1], "ci95")))
    throw Error("summary.ci95 is not a lower and an upper bound");
}

Summary summary_from_json(const json& j) {
  const auto number = [&](const char* key) { return finite_number(j.at(key), key); };
  Summary s{.n = whole_count(j.at("n"), "n"),
            .min = number("min"),
            .p05 = number("p05"),
            .median = number("median"),
            .p95 = number("p95"),
            .p99 = number("p99"),
            .max = number("max"),
            .mean = number("mean"),
            .stdev = optional_number(j, "stdev"),
            .ci95 = {}};
  if (j.contains("ci95")) {
    const json& bounds = list_at(j, "ci95");
    if (bounds.size() != 2) throw Error("attempts.ci95 is not a lower and an upper bound");
    s.ci95 = {finite_number(bounds[0], "ci95"), finite_number(bounds[1], "ci95")};
  }
  return s;
}

// Each sample belongs to one of the attempts, so their numbers must add up.
void require_whole_attempts(const Metric& m) {
  uint64_t n = 0;
  for (const Summary& s : m.attempts) n += s.n;
  if (n != m.samples.count())
    throw Error(fmt::format("the attempts of metric {} do not add up to its samples", m.name));
}

json metric_to_json(const Metric& m) {
  json out = {{"name", m.name},
              {"unit", m.unit},
              {"better", m.better == Better::higher ? "higher" : "lower"},
              {"entity", m.entity},
              {"summary", summary_to_json(m.samples.summary())}};
  if (m.samples.histogram() != nullptr) {
    out["histogram"] = histogram_to_json(*m.samples.histogram());
  } else {
    out["samples"] = std::vector<double>(m.samples.list().begin(), m.samples.list().end());
  }
  // A bound of nothing bounds nothing, and JSON has no infinity: absent.
  if (m.ceiling && std::isfinite(m.ceiling->value) && m.ceiling->value > 0) {
    out["ceiling"] = {{"value", m.ceiling->value}, {"how", m.ceiling->how.text()}};
    add_say(out["ceiling"], m.ceiling->how);
  }
  if (!m.attempts.empty()) out["attempts"] = list_to_json(m.attempts, summary_to_json);
  return out;
}

Better better_from_json(const json& j) {
  const std::string text = text_at(j, "better");
  if (text == "higher") return Better::higher;
  if (text == "lower") return Better::lower;
  throw Error("better is neither higher nor lower");
}

Samples samples_from_json(const json& j) {
  if (j.contains("histogram")) {
    if (j.contains("samples")) throw Error("has both samples and a histogram");
    return Samples::from_histogram(histogram_from_json(object_at(j, "histogram")));
  }
  const json& list = list_at(j, "samples");
  Samples out(std::max<size_t>(list.size(), Samples::kDefaultBound));
  for (const json& s : list) out.add(finite_number(s, "a sample"));
  return out;
}

Metric metric_from_json(const json& j) {
  Metric m{.name = text_at(j, "name"),
           .unit = text_at(j, "unit"),
           .better = better_from_json(j),
           .entity = entity_index(j),
           .samples = samples_from_json(j)};
  if (m.samples.empty()) throw Error(fmt::format("metric {} has no samples", m.name));
  require_same_summary(object_at(j, "summary"), m.samples.summary());
  if (j.contains("ceiling")) {
    const json& ceiling = object_at(j, "ceiling");
    m.ceiling = {finite_number(ceiling.at("value"), "ceiling"),
                 with_say(text_at(ceiling, "how"), ceiling)};
    if (m.ceiling->value <= 0) throw Error("the ceiling is not above 0");
  }
  if (j.contains("attempts")) {
    m.attempts = read_each<Summary>(j, "attempts", summary_from_json);
    require_whole_attempts(m);
  }
  return m;
}

// A residual of NaN is what a wrong product gives: the number is left out, the failure stays.
json check_to_json(const Check& c) {
  json out = {{"name", c.name}, {"passed", c.passed}, {"entity", c.entity}};
  Said detail = c.detail;
  if (c.value && std::isfinite(*c.value)) out["value"] = *c.value;
  if (c.value && !std::isfinite(*c.value)) {
    const Said value = said("check.value_is", fmt::format("{}", *c.value));
    detail = detail.empty() ? value : said_list({detail, value});
  }
  if (c.limit && std::isfinite(*c.limit)) out["limit"] = *c.limit;
  if (!detail.empty()) out["detail"] = detail.text();
  add_say(out, detail);
  if (c.finding) out["finding"] = true;
  return out;
}

Check check_from_json(const json& j) {
  const json& passed = j.at("passed");
  if (!passed.is_boolean()) throw Error("passed is neither true nor false");
  if (j.contains("finding") && !j.at("finding").is_boolean())
    throw Error("finding is neither true nor false");
  return {.name = text_at(j, "name"),
          .passed = passed.get<bool>(),
          .value = optional_number(j, "value"),
          .limit = optional_number(j, "limit"),
          .entity = entity_index(j),
          .detail = j.contains("detail") ? with_say(text_at(j, "detail"), j) : Said(),
          .finding = j.value("finding", false)};
}

// Sensors give no number at times: JSON cannot say so, the point is left out.
json series_to_json(const Series& s) {
  json at = json::array(), values = json::array();
  for (size_t i = 0; i < std::min(s.at.size(), s.values.size()); ++i) {
    if (!std::isfinite(s.at[i]) || !std::isfinite(s.values[i])) continue;
    at.push_back(s.at[i]);
    values.push_back(s.values[i]);
  }
  return {{"name", s.name}, {"unit", s.unit}, {"entity", s.entity}, {"at", at}, {"values", values}};
}

json telemetry_to_json(const Telemetry& t) {
  json out = {{"series", list_to_json(t.series, series_to_json)}, {"deltas", json::array()}};
  for (const Delta& d : t.deltas) {
    if (!std::isfinite(d.before) || !std::isfinite(d.after)) continue;
    out["deltas"].push_back({{"name", d.name},
                             {"unit", d.unit},
                             {"entity", d.entity},
                             {"before", d.before},
                             {"after", d.after}});
  }
  return out;
}

std::vector<double> numbers_at(const json& j, const char* key) {
  std::vector<double> out;
  for (const json& v : list_at(j, key)) out.push_back(finite_number(v, key));
  return out;
}

Series series_from_json(const json& j) {
  Series s{.name = text_at(j, "name"),
           .unit = text_at(j, "unit"),
           .entity = entity_index(j),
           .at = numbers_at(j, "at"),
           .values = numbers_at(j, "values")};
  if (s.at.size() != s.values.size()) throw Error("at and values have unequal lengths");
  return s;
}

Delta delta_from_json(const json& j) {
  return {.name = text_at(j, "name"),
          .unit = text_at(j, "unit"),
          .entity = entity_index(j),
          .before = finite_number(j.at("before"), "before"),
          .after = finite_number(j.at("after"), "after")};
}

Telemetry telemetry_from_json(const json& j) {
  return {.series = read_each<Series>(j, "series", series_from_json),
          .deltas = read_each<Delta>(j, "deltas", delta_from_json)};
}

void outcome_to_json(const Outcome& outcome, json& out) {
  if (const auto* s = std::get_if<Skipped>(&outcome)) {
    out["outcome"] = "skipped";
    out["reason"] = s->reason.text();
    add_say(out["say"], s->reason, "reason");
  } else if (const auto* e = std::get_if<Errored>(&outcome)) {
    out["outcome"] = "errored";
    out["where"] = e->where;
    out["reason"] = e->what.text();
    add_say(out["say"], e->what, "reason");
  } else {
    out["outcome"] = "measured";
  }
}

// What stands beside a record's reason, notes and facts.
const json& say_of(const json& record) {
  static const json nothing = json::object();
  return record.contains("say") ? object_at(record, "say") : nothing;
}

void facts_to_json(const std::map<std::string, Said>& facts, json& out) {
  json say = json::object();
  out["facts"] = json::object();
  for (const auto& [name, fact] : facts) {
    out["facts"][name] = fact.text();
    add_say(say, fact, name.c_str());
  }
  if (!say.empty()) out["say"]["facts"] = std::move(say);
}

std::map<std::string, Said> facts_from_json(const json& j) {
  static const json nothing = json::object();
  const json& say = say_of(j).contains("facts") ? object_at(say_of(j), "facts") : nothing;
  std::map<std::string, Said> out;
  for (const auto& [name, text] : texts_at(j, "facts"))
    out.emplace(name, with_say(text, say, name.c_str(), "facts." + name));
  return out;
}

// The sentences by the place of their note in the list.
void notes_to_json(const std::vector<Said>& notes, json& out) {
  json say = json::object();
  out["notes"] = json::array();
  for (const Said& note : notes) {
    add_say(say, note, std::to_string(out["notes"].size()).c_str());
    out["notes"].push_back(note.text());
  }
  if (!say.empty()) out["say"]["notes"] = std::move(say);
}

std::vector<Said> notes_from_json(const json& j) {
  static const json nothing = json::object();
  const json& say = say_of(j).contains("notes") ? object_at(say_of(j), "notes") : nothing;
  std::vector<Said> out;
  for (std::string& note : text_list_at(j, "notes")) {
    const std::string at = std::to_string(out.size());
    out.push_back(with_say(std::move(note), say, at.c_str(), fmt::format("notes[{}]", at)));
  }
  return out;
}

Outcome outcome_from_json(const json& j) {
  const std::string kind = text_at(j, "outcome");
  if (kind == "measured") return Measured{};
  if (kind == "skipped") return Skipped{with_say(text_at(j, "reason"), say_of(j), "reason")};
  if (kind == "errored")
    return Errored{text_at(j, "where"), with_say(text_at(j, "reason"), say_of(j), "reason")};
  throw Error("outcome is neither measured, skipped nor errored");
}

// A number about nothing cannot be judged: every index must name an entity of the record.
void check_indices(const Record& r) {
  const auto check = [&](size_t entity, const std::string& name) {
    if (entity >= r.entities.size())
      throw Error(fmt::format("{} refers to entity {}, which is absent", name, entity));
  };
  for (const Metric& m : r.metrics) check(m.entity, m.name);
  for (const Check& c : r.checks) check(c.entity, c.name);
  for (const Series& s : r.telemetry.series) check(s.entity, s.name);
  for (const Delta& d : r.telemetry.deltas) check(d.entity, d.name);
}

}  // namespace

json record_to_json(const Record& r) {
  check_indices(r);
  json out = {{"case", r.case_name},
              {"params", params_to_json(r.params)},
              {"entities", list_to_json(r.entities, entity_to_json)},
              {"metrics", list_to_json(r.metrics, metric_to_json)},
              {"checks", list_to_json(r.checks, check_to_json)},
              {"telemetry", telemetry_to_json(r.telemetry)},
              {"started", r.started},
              {"ended", r.ended}};
  outcome_to_json(r.outcome, out);
  facts_to_json(r.facts, out);
  notes_to_json(r.notes, out);
  if (out.contains("say") && out["say"].is_null()) out.erase("say");
  return out;
}

Record record_from_json(const json& j) {
  Record r{.case_name = text_at(j, "case"),
           .params = params_from_json(object_at(j, "params")),
           .outcome = outcome_from_json(j),
           .entities = read_each<Entity>(j, "entities", entity_from_json),
           .metrics = read_each<Metric>(j, "metrics", metric_from_json),
           .checks = read_each<Check>(j, "checks", check_from_json),
           .telemetry = telemetry_from_json(object_at(j, "telemetry")),
           .facts = facts_from_json(j),
           .notes = notes_from_json(j),
           .started = text_at(j, "started"),
           .ended = text_at(j, "ended")};
  check_indices(r);
  return r;
}

}  // namespace cb
