#include "core/record_json.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cb {
namespace {

using nlohmann::json;

double finite(const json& j, const char* what) {
  if (!j.is_number()) throw Error(fmt::format("{} is not a number", what));
  const double value = j.get<double>();
  if (!std::isfinite(value)) throw Error(fmt::format("{} is not finite", what));
  return value;
}

std::optional<double> optional_number(const json& j, const char* key) {
  if (!j.contains(key)) return std::nullopt;
  return finite(j.at(key), key);
}

json entity_to_json(const Entity& e) {
  json out = {{"host", e.host}, {"kind", e.kind}, {"id", e.id}};
  if (e.peer) out["peer"] = *e.peer;
  return out;
}

Entity entity_from_json(const json& j) {
  Entity e{j.at("host").get<std::string>(), j.at("kind").get<std::string>(),
           j.at("id").get<std::string>()};
  if (j.contains("peer")) e.peer = j["peer"].get<std::string>();
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

Histogram histogram_from_json(const json& j) {
  return Histogram::restore(
      j.at("buckets").get<Histogram::Buckets>(),
      {finite(j.at("min"), "min"), finite(j.at("max"), "max"), finite(j.at("sum"), "sum"),
       finite(j.at("sum_of_squares"), "sum_of_squares")});
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
    out["samples"] = std::vector<double>(m.samples.raw().begin(), m.samples.raw().end());
  }
  if (m.ceiling) out["ceiling"] = {{"value", m.ceiling->value}, {"how", m.ceiling->how}};
  return out;
}

Better better_from_json(const json& j) {
  const auto text = j.get<std::string>();
  if (text == "higher") return Better::higher;
  if (text == "lower") return Better::lower;
  throw Error("better is neither higher nor lower");
}

Metric metric_from_json(const json& j) {
  Metric m{.name = j.at("name").get<std::string>(),
           .unit = j.at("unit").get<std::string>(),
           .better = better_from_json(j.at("better")),
           .entity = j.at("entity").get<size_t>()};
  if (j.contains("histogram")) {
    m.samples = Samples::from_histogram(histogram_from_json(j["histogram"]));
  } else {
    const json& samples = j.at("samples");
    m.samples = Samples(std::max<size_t>(samples.size(), 1));
    for (const json& s : samples) m.samples.add(finite(s, "a sample"));
  }
  if (m.samples.empty()) throw Error(fmt::format("metric {} has no samples", m.name));
  if (j.contains("ceiling")) {
    m.ceiling = {finite(j["ceiling"].at("value"), "ceiling"),
                 j["ceiling"].at("how").get<std::string>()};
  }
  return m;
}

json check_to_json(const Check& c) {
  json out = {{"name", c.name}, {"passed", c.passed}, {"entity", c.entity}};
  if (c.value) out["value"] = *c.value;
  if (c.limit) out["limit"] = *c.limit;
  if (!c.detail.empty()) out["detail"] = c.detail;
  return out;
}

Check check_from_json(const json& j) {
  return {.name = j.at("name").get<std::string>(),
          .passed = j.at("passed").get<bool>(),
          .value = optional_number(j, "value"),
          .limit = optional_number(j, "limit"),
          .entity = j.at("entity").get<size_t>(),
          .detail = j.value("detail", "")};
}

json telemetry_to_json(const Telemetry& t) {
  json out = {{"series", json::array()}, {"deltas", json::array()}};
  for (const Series& s : t.series) {
    out["series"].push_back({{"name", s.name},
                             {"unit", s.unit},
                             {"entity", s.entity},
                             {"at", s.at},
                             {"values", s.values}});
  }
  for (const Delta& d : t.deltas) {
    out["deltas"].push_back({{"name", d.name},
                             {"unit", d.unit},
                             {"entity", d.entity},
                             {"before", d.before},
                             {"after", d.after}});
  }
  return out;
}

std::vector<double> numbers(const json& j, const char* what) {
  std::vector<double> out;
  for (const json& v : j) out.push_back(finite(v, what));
  return out;
}

Telemetry telemetry_from_json(const json& j) {
  Telemetry t;
  for (const json& s : j.at("series")) {
    t.series.push_back({.name = s.at("name").get<std::string>(),
                        .unit = s.at("unit").get<std::string>(),
                        .entity = s.at("entity").get<size_t>(),
                        .at = numbers(s.at("at"), "at"),
                        .values = numbers(s.at("values"), "a telemetry value")});
    if (t.series.back().at.size() != t.series.back().values.size())
      throw Error("a series has unequal lengths");
  }
  for (const json& d : j.at("deltas")) {
    t.deltas.push_back({.name = d.at("name").get<std::string>(),
                        .unit = d.at("unit").get<std::string>(),
                        .entity = d.at("entity").get<size_t>(),
                        .before = finite(d.at("before"), "before"),
                        .after = finite(d.at("after"), "after")});
  }
  return t;
}

void outcome_to_json(const Outcome& outcome, json& out) {
  if (const auto* s = std::get_if<Skipped>(&outcome)) {
    out["outcome"] = "skipped";
    out["reason"] = s->reason;
  } else if (const auto* e = std::get_if<Errored>(&outcome)) {
    out["outcome"] = "errored";
    out["where"] = e->where;
    out["reason"] = e->what;
  } else {
    out["outcome"] = "measured";
  }
}

Outcome outcome_from_json(const json& j) {
  const auto kind = j.at("outcome").get<std::string>();
  if (kind == "measured") return Measured{};
  if (kind == "skipped") return Skipped{j.at("reason").get<std::string>()};
  if (kind == "errored") return Errored{j.value("where", ""), j.at("reason").get<std::string>()};
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

template <typename T, typename F>
json list_to_json(const std::vector<T>& list, F convert) {
  json out = json::array();
  for (const T& item : list) out.push_back(convert(item));
  return out;
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
              {"facts", r.facts},
              {"notes", r.notes},
              {"started", r.started},
              {"ended", r.ended}};
  outcome_to_json(r.outcome, out);
  return out;
}

Record record_from_json(const json& j) {
  Record r{.case_name = j.at("case").get<std::string>(),
           .params = params_from_json(j.at("params")),
           .outcome = outcome_from_json(j)};
  for (const json& e : j.at("entities")) r.entities.push_back(entity_from_json(e));
  for (const json& m : j.at("metrics")) r.metrics.push_back(metric_from_json(m));
  for (const json& c : j.at("checks")) r.checks.push_back(check_from_json(c));
  r.telemetry = telemetry_from_json(j.at("telemetry"));
  r.facts = j.at("facts").get<std::map<std::string, std::string>>();
  r.notes = j.at("notes").get<std::vector<std::string>>();
  r.started = j.at("started").get<std::string>();
  r.ended = j.at("ended").get<std::string>();
  check_indices(r);
  return r;
}

}  // namespace cb
