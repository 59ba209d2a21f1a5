#include "bench/collectives/figures.h"

#include <algorithm>

#include <fmt/format.h>

#include "bench/harness/points.h"
#include "core/units.h"

namespace cb {
namespace {

// The raw samples of one series that all ranks together keep, so that the document of 1,000 ranks
// stays readable. A rank with more samples keeps a histogram.
constexpr size_t kRawSamplesOfAllRanks = 200000;

Samples samples_of(const std::vector<double>& values, int series) {
  const size_t bound = kRawSamplesOfAllRanks / static_cast<size_t>(series);
  Samples out(std::clamp<size_t>(bound, 20, Samples::kDefaultBound));
  for (const double v : values) out.add(v);
  return out;
}

Entity self(const Context& context) {
  return {context.place.host, "rank", std::to_string(context.comm.rank())};
}

// The pair in which this rank is the lower one.
size_t own_pair(Record& record, const Context& context) {
  const int partner = context.comm.rank() + context.comm.size() / 2;
  return record.entity(
      {context.place.host, "pair", context.who(), rank_name(context.place, partner)});
}

bool leads_pair(const Context& context) { return context.comm.rank() < context.comm.size() / 2; }

// For pair_one_way and pair_two_way: adds the bandwidth of each pair, in each direction.
void add_pair_bandwidth(Record& record, const Context& context, const CollectivePoint& point,
                        const PointResult& result) {
  if (!leads_pair(context)) return;
  std::vector<double> values;
  for (const double s : result.seconds) values.push_back(algorithm_bandwidth(point.size, s));
  record.add("pair_bytes_per_second", own_pair(record, context),
             samples_of(values, context.comm.size() / 2));
}

void add_latency(Record& record, const Context& context, const PointResult& result) {
  if (result.seconds.empty()) return;
  record.add("latency_seconds", own_pair(record, context),
             samples_of(result.seconds, context.comm.size() / 2));
}

void add_times(Record& record, const Context& context, const PointResult& result) {
  const size_t rank = record.entity(self(context));
  const auto add = [&](const char* name, const std::vector<double>& values) {
    record.add(name, rank, samples_of(values, context.comm.size()));
  };
  add("time_seconds", result.seconds);
  add("late_seconds", result.late_seconds);
}

// The bandwidths belong to all ranks of the group together, so only its first rank adds them.
void add_bandwidths(Record& record, const FigureScope& scope, const CollectivePoint& point,
                    const PointResult& result) {
  const Group& group = scope.group;
  if (group.comm.rank() != 0) return;
  const double factor = bus_factor(point.collective, static_cast<uint64_t>(scope.ranks));
  std::vector<double> algorithm, bus;
  for (const double seconds : result.slowest_seconds) {
    algorithm.push_back(algorithm_bandwidth(point.size, seconds));
    bus.push_back(algorithm.back() * factor);
  }
  const size_t cluster = record.entity(
      group.name.empty() ? Entity{"", "cluster", ""} : Entity{group.host, "group", group.name});
  record.add("algorithm_bytes_per_second", cluster, samples_of(algorithm, 1));
  record.add("bus_bytes_per_second", cluster, samples_of(bus, 1), scope.ceiling);
}

Params params_of(const Params& params, const CollectivePoint& point) {
  Params out = params.with("size", point.asked_bytes);
  out.set("op", std::string(collective_name(point.collective)));
  out.set("dtype", element_type_name(point.type));
  out.set("reduction", reduction_name(point.reduction));
  for (const char* sweep : {"min-size", "max-size", "step-factor"}) out.erase(sweep);
  if (!reduces(point.collective)) out.erase("reduction");
  return out;
}

}  // namespace

Record begin_collective_record(const Context& context, const char* case_name, const Params& params,
                               const CollectivePoint& point, const PointResult& result) {
  Record record{.case_name = case_name, .params = params_of(params, point)};
  record.checks.push_back({.name = "data",
                           .passed = result.first_wrong.empty(),
                           .value = static_cast<double>(result.wrong_elements),
                           .limit = 0,
                           .entity = record.entity(self(context)),
                           .detail = result.first_wrong});
  record.facts = {{"actual_bytes", std::to_string(point.size.bytes)},
                  {"verified_calls", std::to_string(result.checks)}};
  return record;
}

void add_collective_figures(Record& record, const Context& context, const FigureScope& scope,
                            const CollectivePoint& point, const PointResult& result) {
  if (!result.measured) return;  // wrong data on any rank: no rank gets a number
  if (point.collective == Collective::pingpong) {
    add_latency(record, context, result);
    return;
  }
  add_times(record, context, result);
  add_bandwidths(record, scope, point, result);
  if (is_pairwise(point.collective)) add_pair_bandwidth(record, context, point, result);
}

PointResult joined_lanes(const std::vector<PointResult>& lanes) {
  PointResult out = lanes.front();
  for (size_t l = 1; l < lanes.size(); ++l) {
    const PointResult& lane = lanes[l];
    for (size_t i = 0; i < out.seconds.size(); ++i) {
      out.seconds[i] = std::max(out.seconds[i], lane.seconds.at(i));
      out.late_seconds.at(i) = std::max(out.late_seconds.at(i), lane.late_seconds.at(i));
    }
    out.wrong_elements += lane.wrong_elements;
    if (out.first_wrong.empty()) out.first_wrong = lane.first_wrong;
  }
  return out;
}

void add_grid_figures(Record& record, const Context& context, const PointResult& joined,
                      const std::vector<LaneFigures>& lanes) {
  if (!joined.measured) return;  // wrong data on any rank: no rank gets a number
  add_times(record, context, joined);
  for (const LaneFigures& lane : lanes) {
    if (lane.group.comm.rank() != 0 || !lane.group.dimension) continue;
    const double factor =
        bus_factor(lane.point.collective, static_cast<uint64_t>(lane.group.comm.size()));
    std::vector<double> bus;
    for (const double seconds : lane.result.slowest_seconds)
      bus.push_back(algorithm_bandwidth(lane.point.size, seconds) * factor);
    record.add(grid_dimension_name(*lane.group.dimension) + std::string("_bus_bytes_per_second"),
               record.entity({lane.group.host, "group", lane.group.name}), samples_of(bus, 1),
               lane.ceiling);
  }
}

namespace {

// A curve over sizes: all parameters except the size.
Params curve_of(const Record& record) {
  Params out = record.params;
  out.erase("size");
  return out;
}

// Adds a note if a larger size is slower than the one before it.
void note_dip(Record& last, const Record& before) {
  const int64_t size = last.params.integer("size"), smaller = before.params.integer("size");
  if (size <= smaller || curve_of(last) != curve_of(before)) return;
  const Metric *now = last.find("bus_bytes_per_second"),
               *then = before.find("bus_bytes_per_second");
  if (now == nullptr || then == nullptr) return;
  for (const SizeDip& dip :
       find_size_dips({then->samples.summary().median, now->samples.summary().median}))
    last.notes.push_back(said("coll.falls", last.params.text("op"), format_size(size),
                              fmt::format("{:.0f}", dip.share * 100), format_size(smaller)));
}

}  // namespace

std::vector<Record> run_collectives(Context& context, const char* case_name, const Params& params,
                                    const std::vector<CollectivePoint>& points,
                                    const std::function<Record(size_t)>& measure) {
  std::optional<Record> before;
  std::vector<PointName> names;
  for (const CollectivePoint& point : points)
    names.push_back({params_of(params, point), point.plan.what});
  return run_points(context, case_name, names, [&](size_t i) {
    Record record = measure(i);
    if (before) note_dip(record, *before);
    before = record;
    return std::vector<Record>{std::move(record)};
  });
}

}  // namespace cb
