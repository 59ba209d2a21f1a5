#include "core/json/quick_metric.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "core/json/quick_said.h"

namespace cb::quick {
namespace {

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

constexpr Field<Ceiling> kCeiling[] = {
    {"how", [](Ceiling& c, Value v) { set_text(c.how, text(v)); }},
    {"say", [](Ceiling& c, Value v) { set_say(c.how, message(v)); }, Need::optional},
    {"value", [](Ceiling& c, Value v) { c.value = number(v); }}};

Ceiling ceiling(Value v) {
  Ceiling out;
  read_object(v, kCeiling, out);
  out.how = agreeing(std::move(out.how));
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

}  // namespace

Metric metric(Value v) {
  StatedMetric out;
  read_object(v, kMetric, out);
  expect(!out.metric.samples.empty() && adds_up(out.metric));
  expect_same(out.stated, out.metric.samples.summary());
  return std::move(out.metric);
}

}  // namespace cb::quick
