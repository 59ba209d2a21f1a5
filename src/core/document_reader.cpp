// The ordinary document in one pass. Every departure from the ordinary is an Unusual, never a
// guess: see parse_document(), which decides then.
#include "core/document_reader.h"

#include <array>
#include <cmath>
#include <limits>

#include <simdjson.h>

namespace cb {
namespace {

using simdjson::dom::array;
using simdjson::dom::element_type;
using simdjson::dom::object;
using value = simdjson::dom::element;

struct Unusual {};

void expect(bool ordinary) {
  if (!ordinary) throw Unusual();
}

std::string text(value v) { return std::string(std::string_view(v.get_string())); }

double number(value v) { return v.get_double(); }

bool truth(value v) { return v.get_bool(); }

size_t count(value v) { return v.get_uint64(); }

// Calls field(key, value) for every member; each key may stand once.
template <typename Field>
void each_field(object o, Field field) {
  std::vector<std::string> seen;
  for (const auto member : o) {
    for (const std::string& s : seen) expect(s != member.key);
    seen.emplace_back(member.key);
    field(seen.back(), member.value);
  }
}

// As above, and the first `required` keys of the list must be there.
template <size_t N, typename Field>
void read_object(object o, const std::array<const char*, N>& keys, size_t required, Field field) {
  uint64_t seen = 0;
  for (const auto member : o) {
    size_t i = 0;
    while (i < N && member.key != keys[i]) ++i;
    expect(i < N && (seen >> i & 1) == 0);
    seen |= uint64_t{1} << i;
    field(i, member.value);
  }
  const uint64_t wanted = (uint64_t{1} << required) - 1;
  expect((seen & wanted) == wanted);
}

template <typename T, typename Read>
std::vector<T> list(value v, Read read) {
  std::vector<T> out;
  for (const value element : array(v.get_array())) out.push_back(read(element));
  return out;
}

std::map<std::string, std::string> texts(value v) {
  std::map<std::string, std::string> out;
  for (const auto member : object(v.get_object()))
    expect(out.emplace(std::string(member.key), text(member.value)).second);
  return out;
}

template <typename Variant>
Variant scalar(value v) {
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

Params params(value v) {
  Params out;
  each_field(v.get_object(), [&](const std::string& name, value inner) {
    if (inner.type() == element_type::ARRAY) {
      auto values = list<ParamValue>(inner, scalar<ParamValue>);
      expect(!values.empty());
      out.set_list(name, std::move(values));
    } else {
      out.set_list(name, {scalar<ParamValue>(inner)});
    }
  });
  return out;
}

Part part(value v) {
  Part out;
  read_object(v.get_object(), std::array{"attributes", "id", "kind", "unavailable"}, 3,
              [&](size_t i, value inner) {
                switch (i) {
                  case 0:
                    for (const auto member : object(inner.get_object()))
                      expect(out.attributes
                                 .emplace(std::string(member.key), scalar<Attribute>(member.value))
                                 .second);
                    break;
                  case 1:
                    out.id = text(inner);
                    break;
                  case 2:
                    out.kind = text(inner);
                    break;
                  default:
                    out.unavailable = texts(inner);
                }
              });
  return out;
}

HostInventory inventory(value v) {
  HostInventory out;
  read_object(v.get_object(), std::array{"host", "parts"}, 2, [&](size_t i, value inner) {
    if (i == 0)
      out.host = text(inner);
    else
      out.parts = list<Part>(inner, part);
  });
  return out;
}

Entity entity(value v) {
  Entity out;
  read_object(v.get_object(), std::array{"host", "id", "kind", "peer"}, 3,
              [&](size_t i, value inner) {
                if (i == 3)
                  out.peer = text(inner);
                else
                  (i == 0 ? out.host : i == 1 ? out.id : out.kind) = text(inner);
              });
  return out;
}

// What the file says of its samples; ours is computed again.
struct Stated {
  Summary summary;
  bool has_stdev = false;
  bool has_ci95 = false;
};

Stated stated_summary(value v) {
  Stated out;
  Summary& s = out.summary;
  read_object(v.get_object(),
              std::array{"max", "mean", "median", "min", "n", "p05", "p95", "p99", "ci95", "stdev"},
              8, [&](size_t i, value inner) {
                if (i == 4) {
                  s.n = count(inner);
                } else if (i == 8) {
                  const auto ends = list<double>(inner, number);
                  expect(ends.size() == 2 && ends[0] <= ends[1]);
                  out.has_ci95 = true;
                } else if (i == 9) {
                  number(inner);
                  out.has_stdev = true;
                } else {
                  double* const places[] = {&s.max,  &s.mean, &s.median, &s.min,
                                            nullptr, &s.p05,  &s.p95,    &s.p99};
                  *places[i] = number(inner);
                }
              });
  return out;
}

void expect_same(const Stated& stated, const Summary& ours) {
  const auto same = [](double theirs, double own) {
    expect(std::abs(theirs - own) <= 1e-9 * std::max(std::abs(theirs), std::abs(own)));
  };
  const Summary& s = stated.summary;
  expect(s.n == ours.n && stated.has_stdev == ours.stdev.has_value() &&
         stated.has_ci95 == ours.ci95.has_value());
  same(s.min, ours.min);
  same(s.p05, ours.p05);
  same(s.median, ours.median);
  same(s.p95, ours.p95);
  same(s.p99, ours.p99);
  same(s.max, ours.max);
  same(s.mean, ours.mean);
}

Samples samples_of(value v) {
  const auto values = list<double>(v, number);
  Samples out(std::max(values.size(), Samples::kDefaultBound));
  for (const double sample : values) out.add(sample);
  return out;
}

Samples histogram_of(value v) {
  Histogram::Buckets buckets;
  Histogram::Exact exact{};
  read_object(v.get_object(), std::array{"buckets", "max", "min", "sum", "sum_of_squares"}, 5,
              [&](size_t i, value inner) {
                double* const places[] = {nullptr, &exact.max, &exact.min, &exact.sum,
                                          &exact.sum_of_squares};
                if (i > 0) {
                  *places[i] = number(inner);
                  return;
                }
                buckets = list<std::pair<uint32_t, uint64_t>>(inner, [](value pair) {
                  const auto both = list<size_t>(pair, count);
                  expect(both.size() == 2 && both[0] <= std::numeric_limits<uint32_t>::max());
                  return std::pair{static_cast<uint32_t>(both[0]), uint64_t{both[1]}};
                });
              });
  return Samples::from_histogram(Histogram::restore(buckets, exact));
}

Ceiling ceiling(value v) {
  Ceiling out;
  read_object(v.get_object(), std::array{"how", "value"}, 2, [&](size_t i, value inner) {
    if (i == 0)
      out.how = text(inner);
    else
      out.value = number(inner);
  });
  expect(out.value > 0);
  return out;
}

Better better(value v) {
  const std::string_view word = v.get_string();
  expect(word == "higher" || word == "lower");
  return word == "higher" ? Better::higher : Better::lower;
}

Metric metric(value v) {
  Metric out;
  Stated stated;
  read_object(
      v.get_object(),
      std::array{"better", "entity", "name", "summary", "unit", "ceiling", "histogram", "samples"},
      5, [&](size_t i, value inner) {
        switch (i) {
          case 0:
            out.better = better(inner);
            break;
          case 1:
            out.entity = count(inner);
            break;
          case 2:
            out.name = text(inner);
            break;
          case 3:
            stated = stated_summary(inner);
            break;
          case 4:
            out.unit = text(inner);
            break;
          case 5:
            out.ceiling = ceiling(inner);
            break;
          default:
            expect(out.samples.empty());
            out.samples = i == 6 ? histogram_of(inner) : samples_of(inner);
            expect(!out.samples.empty());
        }
      });
  expect(!out.samples.empty());
  expect_same(stated, out.samples.summary());
  return out;
}

Check check(value v) {
  Check out;
  read_object(v.get_object(), std::array{"entity", "name", "passed", "detail", "limit", "value"}, 3,
              [&](size_t i, value inner) {
                switch (i) {
                  case 0:
                    out.entity = count(inner);
                    break;
                  case 1:
                    out.name = text(inner);
                    break;
                  case 2:
                    out.passed = truth(inner);
                    break;
                  case 3:
                    out.detail = text(inner);
                    break;
                  default:
                    (i == 4 ? out.limit : out.value) = number(inner);
                }
              });
  return out;
}

Series series(value v) {
  Series out;
  read_object(v.get_object(), std::array{"at", "entity", "name", "unit", "values"}, 5,
              [&](size_t i, value inner) {
                if (i == 1)
                  out.entity = count(inner);
                else if (i == 2 || i == 3)
                  (i == 2 ? out.name : out.unit) = text(inner);
                else
                  (i == 0 ? out.at : out.values) = list<double>(inner, number);
              });
  expect(out.at.size() == out.values.size());
  return out;
}

Delta delta(value v) {
  Delta out;
  read_object(v.get_object(), std::array{"after", "before", "entity", "name", "unit"}, 5,
              [&](size_t i, value inner) {
                if (i == 2)
                  out.entity = count(inner);
                else if (i > 2)
                  (i == 3 ? out.name : out.unit) = text(inner);
                else
                  (i == 0 ? out.after : out.before) = number(inner);
              });
  return out;
}

Telemetry telemetry(value v) {
  Telemetry out;
  read_object(v.get_object(), std::array{"deltas", "series"}, 2, [&](size_t i, value inner) {
    if (i == 0)
      out.deltas = list<Delta>(inner, delta);
    else
      out.series = list<Series>(inner, series);
  });
  return out;
}

void expect_entities(const Record& r) {
  const size_t n = r.entities.size();
  for (const Metric& m : r.metrics) expect(m.entity < n);
  for (const Check& c : r.checks) expect(c.entity < n);
  for (const Series& s : r.telemetry.series) expect(s.entity < n);
  for (const Delta& d : r.telemetry.deltas) expect(d.entity < n);
}

Outcome outcome_of(const std::string& kind, const std::optional<std::string>& reason,
                   const std::optional<std::string>& where) {
  if (kind == "measured") return Measured{};
  expect(reason.has_value());
  if (kind == "skipped") return Skipped{*reason};
  expect(kind == "errored" && where);
  return Errored{*where, *reason};
}

Record record(value v) {
  Record out;
  std::string kind;
  std::optional<std::string> reason, where;
  read_object(v.get_object(),
              std::array{"case", "checks", "ended", "entities", "facts", "metrics", "notes",
                         "outcome", "params", "started", "telemetry", "reason", "where"},
              11, [&](size_t i, value inner) {
                switch (i) {
                  case 0:
                    out.case_name = text(inner);
                    break;
                  case 1:
                    out.checks = list<Check>(inner, check);
                    break;
                  case 2:
                    out.ended = text(inner);
                    break;
                  case 3:
                    out.entities = list<Entity>(inner, entity);
                    break;
                  case 4:
                    out.facts = texts(inner);
                    break;
                  case 5:
                    out.metrics = list<Metric>(inner, metric);
                    break;
                  case 6:
                    out.notes = list<std::string>(inner, text);
                    break;
                  case 7:
                    kind = text(inner);
                    break;
                  case 8:
                    out.params = params(inner);
                    break;
                  case 9:
                    out.started = text(inner);
                    break;
                  case 10:
                    out.telemetry = telemetry(inner);
                    break;
                  default:
                    (i == 11 ? reason : where) = text(inner);
                }
              });
  out.outcome = outcome_of(kind, reason, where);
  expect(out.measured() || out.metrics.empty());
  expect_entities(out);
  return out;
}

ToolInfo tool(value v) {
  ToolInfo out;
  read_object(v.get_object(), std::array{"build", "commit", "dirty", "version"}, 4,
              [&](size_t i, value inner) {
                if (i == 0)
                  out.build = texts(inner);
                else if (i == 2)
                  out.dirty = truth(inner);
                else
                  (i == 1 ? out.commit : out.version) = text(inner);
              });
  return out;
}

RunInfo run(value v) {
  RunInfo out;
  read_object(
      v.get_object(),
      std::array{"argv", "ended", "environment", "hosts", "id", "launcher", "ranks", "started",
                 "partial"},
      8, [&](size_t i, value inner) {
        switch (i) {
          case 0:
          case 3:
            (i == 0 ? out.argv : out.hosts) = list<std::string>(inner, text);
            break;
          case 2:
            out.environment = texts(inner);
            break;
          case 6: {
            const size_t ranks = count(inner);
            expect(ranks >= 1 && ranks <= static_cast<size_t>(std::numeric_limits<int>::max()));
            out.ranks = static_cast<int>(ranks);
            break;
          }
          case 8:
            out.partial = text(inner);
            break;
          default:
            (i == 1   ? out.ended
             : i == 4 ? out.id
             : i == 5 ? out.launcher
                      : out.started) = text(inner);
        }
      });
  return out;
}

Document document(object o, bool with_hosts) {
  Document out;
  read_object(o, std::array{"hosts", "records", "run", "schema", "tool"}, 5,
              [&](size_t i, value inner) {
                switch (i) {
                  case 0:
                    if (with_hosts) out.hosts = list<HostInventory>(inner, inventory);
                    break;
                  case 1:
                    out.records = list<Record>(inner, record);
                    break;
                  case 2:
                    out.run = run(inner);
                    break;
                  case 3:
                    expect(std::string_view(inner.get_string()) == "clusterbench.result/1");
                    break;
                  default:
                    out.tool = tool(inner);
                }
              });
  return out;
}

}  // namespace

std::optional<Document> read_document_quickly(std::string_view text, bool hosts) {
  try {
    simdjson::dom::parser parser;
    return document(parser.parse(text.data(), text.size()).get_object(), hosts);
  } catch (const Unusual&) {
    return std::nullopt;
  } catch (const std::exception&) {  // simdjson's, and what our own values refuse
    return std::nullopt;
  }
}

}  // namespace cb
