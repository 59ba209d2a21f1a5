#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/json/document_parts.h"
#include "core/json/said_fields.h"

namespace cb {

using nlohmann::json;

using Interval = std::array<double, 2>;

void read_interval(Value from, Interval& to) {
  std::vector<double> ends;
  read_value(from, ends);
  if (ends.size() != 2 || ends[0] > ends[1]) refuse("is not a lower and an upper bound");
  to = {ends[0], ends[1]};
}

namespace {

constexpr Field<Summary> kSummary[] = {
    field<&Summary::n>("n"),
    field<&Summary::min>("min"),
    field<&Summary::p05>("p05"),
    field<&Summary::median>("median"),
    field<&Summary::p95>("p95"),
    field<&Summary::p99>("p99"),
    field<&Summary::max>("max"),
    field<&Summary::mean>("mean"),
    field<&Summary::stdev>("stdev"),
    {"ci95", Need::optional,
     [](Value from, Summary& to) { read_interval(from, to.ci95.emplace()); },
     [](const Summary& from) { return from.ci95 ? json(*from.ci95) : json(); }}};

}  // namespace

void read_value(Value from, Summary& to) { read_object(from, kSummary, to); }
json write_value(const Summary& from) { return write_object(from, kSummary); }

namespace {

// The summary is written for readers of the file; ours is computed from the samples again. Where
// the two differ somebody changed one of them. Of the deviation and the interval it counts that
// they are there.
void require_same(const Summary& stated, const Summary& ours) {
  const auto require = [](bool same, const char* figure) {
    if (!same) refuse_at(figure, "does not follow from the samples");
  };
  const auto near = [](double a, double b) {
    return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
  };
  require(stated.n == ours.n, ".n");
  require(near(stated.min, ours.min), ".min");
  require(near(stated.p05, ours.p05), ".p05");
  require(near(stated.median, ours.median), ".median");
  require(near(stated.p95, ours.p95), ".p95");
  require(near(stated.p99, ours.p99), ".p99");
  require(near(stated.max, ours.max), ".max");
  require(near(stated.mean, ours.mean), ".mean");
  require(stated.stdev.has_value() == ours.stdev.has_value(), ".stdev");
  require(stated.ci95.has_value() == ours.ci95.has_value(), ".ci95");
}

// A histogram as it is written down.
struct StatedHistogram {
  Histogram::Buckets buckets = {};
  double min = 0, max = 0, sum = 0, sum_of_squares = 0;
};

void read_buckets(Value from, StatedHistogram& to) {
  std::vector<std::vector<uint64_t>> pairs;
  read_value(from, pairs);
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (pairs[i].size() != 2 || pairs[i][0] > std::numeric_limits<uint32_t>::max())
      refuse_at(fmt::format("[{}]", i), "is not a pair of bucket and count");
    to.buckets.emplace_back(static_cast<uint32_t>(pairs[i][0]), pairs[i][1]);
  }
}

constexpr Field<StatedHistogram> kHistogram[] = {
    {"buckets", Need::required, read_buckets,
     [](const StatedHistogram& from) { return json(from.buckets); }},
    field<&StatedHistogram::min>("min"),
    field<&StatedHistogram::max>("max"),
    field<&StatedHistogram::sum>("sum"),
    field<&StatedHistogram::sum_of_squares>("sum_of_squares")};

Histogram histogram_of(Value from) {
  StatedHistogram h;
  read_object(from, kHistogram, h);
  return Histogram::restore(h.buckets, {h.min, h.max, h.sum, h.sum_of_squares});
}

json histogram_to_json(const Histogram& h) {
  const Histogram::Exact exact = h.exact();
  const StatedHistogram out{h.buckets(), exact.min, exact.max, exact.sum, exact.sum_of_squares};
  return write_object(out, kHistogram);
}

Samples samples_of(Value from) {
  std::vector<double> values;
  read_value(from, values);
  return Samples::from_list(std::move(values));
}

constexpr Field<Ceiling> kCeiling[] = {field<&Ceiling::value>("value"), field<&Ceiling::how>("how"),
                                       say_field<&Ceiling::how>("say")};

}  // namespace

void read_value(Value from, Ceiling& to) {
  read_object(from, kCeiling, to);
  if (to.value <= 0) refuse_at(".value", "is not above 0");
}

// A bound of nothing bounds nothing, and JSON has no infinity: absent.
json write_value(const Ceiling& from) {
  return std::isfinite(from.value) && from.value > 0 ? write_object(from, kCeiling) : json();
}

void read_value(Value from, Better& to) {
  std::string word;
  read_value(from, word);
  if (word != "higher" && word != "lower") refuse("is neither higher nor lower");
  to = word == "higher" ? Better::higher : Better::lower;
}

json write_value(Better from) { return from == Better::higher ? "higher" : "lower"; }

namespace {

void read_samples(Value from, Metric& to) { to.samples = samples_of(from); }

json write_samples(const Metric& from) {
  if (from.samples.histogram() != nullptr) return {};
  return std::vector<double>(from.samples.list().begin(), from.samples.list().end());
}

void read_histogram(Value from, Metric& to) {
  if (!to.samples.empty()) refuse("stands beside samples");
  to.samples = Samples::from_histogram(histogram_of(from));
}

json write_histogram(const Metric& from) {
  const Histogram* histogram = from.samples.histogram();
  return histogram == nullptr ? json() : histogram_to_json(*histogram);
}

void read_summary(Value from, Metric& to) {
  if (to.samples.empty()) refuse("is of no samples");
  Summary stated;
  read_value(from, stated);
  require_same(stated, to.samples.summary());
}

// Each sample belongs to one of the attempts, so their numbers must add up.
void read_attempts(Value from, Metric& to) {
  read_value(from, to.attempts);
  uint64_t n = 0;
  for (const Summary& s : to.attempts) n += s.n;
  if (n != to.samples.count()) refuse("do not add up to the samples");
}

json write_attempts(const Metric& from) {
  return from.attempts.empty() ? json() : write_value(from.attempts);
}

constexpr Field<Metric> kMetric[] = {
    field<&Metric::name>("name"),
    field<&Metric::unit>("unit"),
    field<&Metric::better>("better"),
    field<&Metric::entity>("entity"),
    {"samples", Need::optional, read_samples, write_samples},
    {"histogram", Need::optional, read_histogram, write_histogram},
    {"summary", Need::required, read_summary,
     [](const Metric& from) { return write_value(from.samples.summary()); }},
    {"attempts", Need::optional, read_attempts, write_attempts},
    field<&Metric::ceiling>("ceiling")};

}  // namespace

void read_value(Value from, Metric& to) { read_object(from, kMetric, to); }
json write_value(const Metric& from) { return write_object(from, kMetric); }

}  // namespace cb
