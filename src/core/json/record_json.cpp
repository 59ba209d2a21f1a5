#include "core/json/record_json.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/json/document_parts.h"
#include "core/json/said_fields.h"

namespace cb {
namespace {

using nlohmann::json;

constexpr Field<Entity> kEntity[] = {field<&Entity::host>("host"), field<&Entity::kind>("kind"),
                                     field<&Entity::id>("id"), field<&Entity::peer>("peer")};

constexpr Field<Check> kCheck[] = {
    field<&Check::name>("name"),
    field<&Check::passed>("passed"),
    field<&Check::value>("value"),
    field<&Check::limit>("limit"),
    field<&Check::entity>("entity"),
    field_unless_empty<&Check::detail>("detail"),
    say_field<&Check::detail>("say"),
    {"finding", Need::optional, [](Value from, Check& to) { read_value(from, to.finding); },
     [](const Check& from) { return from.finding ? json(true) : json(); }}};

constexpr Field<Series> kSeries[] = {field<&Series::name>("name"), field<&Series::unit>("unit"),
                                     field<&Series::entity>("entity"), field<&Series::at>("at"),
                                     field<&Series::values>("values")};

constexpr Field<Delta> kDelta[] = {field<&Delta::name>("name"), field<&Delta::unit>("unit"),
                                   field<&Delta::entity>("entity"), field<&Delta::before>("before"),
                                   field<&Delta::after>("after")};

constexpr Field<Telemetry> kTelemetry[] = {field<&Telemetry::series>("series"),
                                           field<&Telemetry::deltas>("deltas")};

}  // namespace

void read_value(Value from, Entity& to) { read_object(from, kEntity, to); }
json write_value(const Entity& from) { return write_object(from, kEntity); }

void read_value(Value from, Check& to) {
  read_object(from, kCheck, to);
  // A limit of 0 counts what is wrong; other limits may be least values.
  if (to.passed && to.limit == 0.0 && to.value > 0.0)
    refuse_at(".passed", "is true, though its value is above its limit of 0");
}

// A residual of NaN is what a wrong product gives: the number is left out, the failure stays.
json write_value(const Check& from) {
  if (!from.value || std::isfinite(*from.value)) return write_object(from, kCheck);
  Check out = from;
  const Said value = said("check.value_is", fmt::format("{}", *from.value));
  out.detail = from.detail.empty() ? value : said_list({from.detail, value});
  return write_object(out, kCheck);
}

void read_value(Value from, Series& to) {
  read_object(from, kSeries, to);
  if (to.at.size() != to.values.size()) refuse("has at and values of unequal lengths");
}

// Sensors give no number at times: JSON cannot say so, the point is left out.
json write_value(const Series& from) {
  Series out{.name = from.name, .unit = from.unit, .entity = from.entity};
  for (size_t i = 0; i < std::min(from.at.size(), from.values.size()); ++i) {
    if (!std::isfinite(from.at[i]) || !std::isfinite(from.values[i])) continue;
    out.at.push_back(from.at[i]);
    out.values.push_back(from.values[i]);
  }
  return write_object(out, kSeries);
}

void read_value(Value from, Delta& to) { read_object(from, kDelta, to); }

json write_value(const Delta& from) {
  const bool finite = std::isfinite(from.before) && std::isfinite(from.after);
  return finite ? write_object(from, kDelta) : json();
}

void read_value(Value from, Telemetry& to) { read_object(from, kTelemetry, to); }
json write_value(const Telemetry& from) { return write_object(from, kTelemetry); }

// One value or a list of several.
void read_value(Value from, Params& to) {
  for (const auto member : object_of(from)) {
    std::vector<Scalar> values;
    try {
      if (member.value.is_array())
        read_value(member.value, values);
      else
        read_value(member.value, values.emplace_back());
      if (values.empty()) refuse("is an empty list");
    } catch (...) {
      refuse_below("." + std::string(member.key));
    }
    to.set_list(std::string(member.key), std::move(values));
  }
}

json write_value(const Params& from) { return params_to_json(from); }

namespace {

void read_outcome(Value from, Record& to) {
  std::string word;
  read_value(from, word);
  if (word == "measured")
    to.outcome = Measured{};
  else if (word == "skipped")
    to.outcome = Skipped{};
  else if (word == "errored")
    to.outcome = Errored{};
  else
    refuse("is neither measured, skipped nor errored");
}

json write_outcome(const Record& from) {
  constexpr const char* kWords[] = {"measured", "skipped", "errored"};
  return kWords[from.outcome.index()];
}

// Null where it was measured.
Said* reason_of(Outcome& outcome) {
  if (auto* skipped = std::get_if<Skipped>(&outcome)) return &skipped->reason;
  if (auto* errored = std::get_if<Errored>(&outcome)) return &errored->what;
  return nullptr;
}

const Said* reason_of(const Outcome& outcome) { return reason_of(const_cast<Outcome&>(outcome)); }

constexpr Field<Record> kSay[] = {{"reason", Need::optional,
                                   [](Value from, Record& to) {
                                     if (Said* reason = reason_of(to.outcome))
                                       read_say(from, *reason);
                                   },
                                   [](const Record& from) {
                                     const Said* reason = reason_of(from.outcome);
                                     return reason == nullptr ? json() : write_say(*reason);
                                   }},
                                  say_field<&Record::facts>("facts"),
                                  say_field<&Record::notes>("notes")};

json write_record_say(const Record& from) {
  json out = write_object(from, kSay);
  return out.empty() ? json() : out;
}

constexpr Field<Record> kRecord[] = {
    field<&Record::case_name>("case"),
    field<&Record::params>("params"),
    {"outcome", Need::required, read_outcome, write_outcome},
    {"reason", Need::optional,
     [](Value from, Record& to) {
       if (Said* reason = reason_of(to.outcome)) read_value(from, *reason);
     },
     [](const Record& from) {
       const Said* reason = reason_of(from.outcome);
       return reason == nullptr ? json() : write_value(*reason);
     }},
    {"where", Need::optional,
     [](Value from, Record& to) {
       if (auto* errored = std::get_if<Errored>(&to.outcome)) read_value(from, errored->where);
     },
     [](const Record& from) {
       const auto* errored = std::get_if<Errored>(&from.outcome);
       return errored == nullptr ? json() : write_value(errored->where);
     }},
    field<&Record::facts>("facts"),
    field<&Record::notes>("notes"),
    {"say", Need::optional, [](Value from, Record& to) { read_object(from, kSay, to); },
     write_record_say},
    field<&Record::entities>("entities"),
    field<&Record::metrics>("metrics"),
    field<&Record::checks>("checks"),
    field<&Record::telemetry>("telemetry"),
    field<&Record::started>("started"),
    field<&Record::ended>("ended")};

void require_key(Value from, const char* key) {
  if (from.at_key(key).error() != simdjson::SUCCESS)
    refuse_at(fmt::format(".{}", key), "is missing");
}

// A number about nothing cannot be judged: every index must name an entity of the record.
void require_entities(const Record& r) {
  const auto check = [&](const auto& list, const char* name) {
    for (size_t i = 0; i < list.size(); ++i) {
      if (list[i].entity >= r.entities.size())
        refuse_at(fmt::format(".{}[{}].entity", name, i),
                  fmt::format("is {}, which is absent: the record has {}", list[i].entity,
                              r.entities.size()));
    }
  };
  check(r.metrics, "metrics");
  check(r.checks, "checks");
  check(r.telemetry.series, "telemetry.series");
  check(r.telemetry.deltas, "telemetry.deltas");
}

// What one rank says of a record. It may have measured before it failed; joining the ranks takes
// those numbers away.
void read_share(Value from, Record& to) {
  read_object(from, kRecord, to);
  if (!to.measured()) require_key(from, "reason");
  if (std::holds_alternative<Errored>(to.outcome)) require_key(from, "where");
  require_entities(to);
}

}  // namespace

void read_value(Value from, Record& to) {
  read_share(from, to);
  if (!to.measured() && !to.metrics.empty())
    refuse("has metrics, though its outcome is not measured");
}

json write_value(const Record& from) {
  try {
    require_entities(from);
  } catch (const Refusal& r) {
    throw Error(r.text());
  }
  return write_object(from, kRecord);
}

json record_to_json(const Record& record) { return write_value(record); }

// Bytes of others in it need not be UTF-8.
Record record_from_json(const json& j) {
  return read_tree<Record>(j.dump(-1, ' ', false, json::error_handler_t::replace), read_share);
}

}  // namespace cb
