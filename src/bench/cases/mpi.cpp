// Collectives of MPI in host memory over a sweep of sizes. Each iteration is timed from the rank's
// leaving a barrier to its own completion of the call; making and checking the data is not counted.
// Names, sizes and bandwidths are those of nccl-tests: docs/methods/collectives.md.
#include <algorithm>

#include <fmt/format.h>

#include "bench/cases.h"
#include "bench/mpi/group.h"
#include "bench/mpi/plan.h"
#include "core/clock.h"
#include "core/units.h"

namespace cb {
namespace {

CaseInfo describe() {
  return {
      .name = "mpi",
      .device = "",
      .summary = "collectives in host memory: bandwidth, latency, every element checked",
      .example =
          "mpirun -np 4 clusterbench mpi --op all_reduce,alltoall --max-size 16M --json m.json",
      .domain = "network",
      .needs = {.ranks = 2},
      .params = {{"op", ParamType::choice, "all_reduce", "collectives, named as in nccl-tests",
                  collective_names(), true},
                 {"size", ParamType::size, "", "these sizes instead of a sweep", {}, true, 1},
                 {"min-size", ParamType::size, "1K", "first size of the sweep", {}, false, 1},
                 {"max-size", ParamType::size, "64M", "last size of the sweep", {}, false, 1},
                 {"step-factor",
                  ParamType::integer,
                  "4",
                  "each size is this times the one before",
                  {},
                  false,
                  2,
                  1024},
                 {"step-bytes",
                  ParamType::size,
                  "",
                  "each size is this more than the one before, instead of --step-factor",
                  {},
                  false,
                  1},
                 {"split", ParamType::text, "",
                  "groups that measure at the same time: host, rail (ranks of the same place on "
                  "their hosts), pair, half, or N groups by rank modulo N"},
                 {"in-place", ParamType::flag, "false", "send from the receive buffer"},
                 {"dtype", ParamType::choice, "float", "type of the elements",
                  element_type_names()},
                 {"reduction", ParamType::choice, "sum", "of all_reduce, reduce_scatter and reduce",
                  reduction_names()},
                 {"iterations",
                  ParamType::integer,
                  "",
                  "exactly this many per size",
                  {},
                  false,
                  1,
                  10000000},
                 {"duration",
                  ParamType::duration,
                  "",
                  "at most this long per size, 1s unless --iterations is given",
                  {},
                  false,
                  0.001},
                 {"checks",
                  ParamType::integer,
                  "20",
                  "calls per size, besides timed ones, of which every element is verified",
                  {},
                  false,
                  1,
                  100000},
                 {"inject-fault",
                  ParamType::integer,
                  "",
                  "this rank flips a bit of what it receives, to prove that it is seen",
                  {},
                  false,
                  0}},
      .metrics = {{"time_seconds", "seconds", Better::lower, "of one call, per rank"},
                  {"algorithm_bytes_per_second", "bytes_per_second", Better::higher,
                   "size over the slowest rank's time, per iteration"},
                  {"bus_bytes_per_second", "bytes_per_second", Better::higher,
                   "algorithm bandwidth times the bus factor of nccl-tests"},
                  {"pair_bytes_per_second", "bytes_per_second", Better::higher,
                   "pair_one_way and pair_two_way: in one direction, per pair"},
                  {"late_seconds", "seconds", Better::lower,
                   "how long after the first rank this one began the call, per rank"},
                  {"latency_seconds", "seconds", Better::lower,
                   "pingpong: half of the round trip, per pair"}},
      .checks = {"data"},
  };
}

// Raw samples of one series that are kept in all by all ranks together, so that the document of
// 1,000 ranks stays readable; beyond, each rank keeps a histogram.
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

std::string rank_name(const Context& context, int rank) {
  const int host = context.place.host_of_rank[static_cast<size_t>(rank)];
  return fmt::format("{} rank {}", context.place.hosts[static_cast<size_t>(host)], rank);
}

// The pair of which this rank is the lower one.
size_t own_pair(Record& record, const Context& context) {
  const int partner = context.comm.rank() + context.comm.size() / 2;
  return record.entity({context.place.host, "pair", context.who(), rank_name(context, partner)});
}

bool leads_pair(const Context& context) { return context.comm.rank() < context.comm.size() / 2; }

// Of pair_one_way and pair_two_way: what each pair reaches, in each direction.
void add_pair_bandwidth(Record& record, const Context& context, const CollectivePoint& point,
                        const PointResult& result) {
  if (!leads_pair(context)) return;
  std::vector<double> values;
  for (const double s : result.seconds) values.push_back(algorithm_bandwidth(point.size, s));
  record.metrics.push_back({.name = "pair_bytes_per_second",
                            .unit = "bytes_per_second",
                            .entity = own_pair(record, context),
                            .samples = samples_of(values, context.comm.size() / 2)});
}

void add_latency(Record& record, const Context& context, const PointResult& result) {
  if (result.seconds.empty()) return;
  const size_t pair = own_pair(record, context);
  record.metrics.push_back({.name = "latency_seconds",
                            .unit = "seconds",
                            .better = Better::lower,
                            .entity = pair,
                            .samples = samples_of(result.seconds, context.comm.size() / 2)});
}

void add_times(Record& record, const Context& context, const PointResult& result) {
  const size_t rank = record.entity(self(context));
  const auto add = [&](const char* name, const std::vector<double>& values) {
    record.metrics.push_back({.name = name,
                              .unit = "seconds",
                              .better = Better::lower,
                              .entity = rank,
                              .samples = samples_of(values, context.comm.size())});
  };
  add("time_seconds", result.seconds);
  add("late_seconds", result.late_seconds);
}

// Of all ranks of the group together, so its first rank alone adds it.
void add_bandwidths(Record& record, const Group& group, const CollectivePoint& point,
                    const PointResult& result) {
  if (group.rank != 0) return;
  const double factor = bus_factor(point.collective, static_cast<uint64_t>(group.size));
  std::vector<double> algorithm, bus;
  for (const double seconds : result.slowest_seconds) {
    algorithm.push_back(algorithm_bandwidth(point.size, seconds));
    bus.push_back(algorithm.back() * factor);
  }
  const size_t cluster = record.entity(
      group.name.empty() ? Entity{"", "cluster", ""} : Entity{group.host, "group", group.name});
  record.metrics.push_back({.name = "algorithm_bytes_per_second",
                            .unit = "bytes_per_second",
                            .entity = cluster,
                            .samples = samples_of(algorithm, 1)});
  record.metrics.push_back({.name = "bus_bytes_per_second",
                            .unit = "bytes_per_second",
                            .entity = cluster,
                            .samples = samples_of(bus, 1)});
}

Params params_of(const Params& params, const CollectivePoint& point) {
  Params out = params.with("size", point.asked_bytes);
  out.set("op", std::string(collective_name(point.collective)));
  for (const char* sweep : {"min-size", "max-size", "step-factor"}) out.erase(sweep);
  if (!reduces(point.collective)) out.erase("reduction");
  return out;
}

Record measure(Context& context, const Params& params, const CollectivePoint& point,
               const Group& group) {
  Record record{.case_name = "mpi", .params = params_of(params, point)};
  record.started = utc_now();
  const PointResult result = measure_point(context, point, group.comm.get());
  record.checks.push_back({.name = "data",
                           .passed = result.first_wrong.empty(),
                           .value = static_cast<double>(result.wrong_elements),
                           .limit = 0,
                           .entity = record.entity(self(context)),
                           .detail = result.first_wrong});
  record.facts = {{"actual_bytes", std::to_string(point.size.bytes)},
                  {"library", mpi::library_name()},
                  {"verified_calls", std::to_string(result.checks)}};
  record.ended = utc_now();
  if (!result.measured) return record;  // wrong data on any rank yields no number on any
  if (point.collective == Collective::pingpong) {
    add_latency(record, context, result);
  } else {
    add_times(record, context, result);
    add_bandwidths(record, group, point, result);
    if (is_pairwise(point.collective)) add_pair_bandwidth(record, context, point, result);
  }
  return record;
}

// A larger size that is slower than the one before it, on the rank that holds the bandwidth.
void note_dip(std::vector<Record>& records) {
  if (records.size() < 2) return;
  const auto median_of = [](const Record& r) {
    for (const Metric& m : r.metrics) {
      if (m.name == "bus_bytes_per_second") return m.samples.summary().median;
    }
    return 0.0;
  };
  Record& last = records.back();
  const Record& before = records[records.size() - 2];
  const int64_t size = last.params.integer("size"), smaller = before.params.integer("size");
  if (last.params.text("op") != before.params.text("op") || size <= smaller) return;
  const double now = median_of(last), then = median_of(before);
  if (now <= 0 || then <= 0) return;
  for (const SizeDip& dip : find_size_dips({then, now}))
    last.notes.push_back(fmt::format(
        "{} falls at {}: {:.0f} % of the bus bandwidth at {}; a change of algorithm or protocol?",
        last.params.text("op"), format_size(size), dip.share * 100, format_size(smaller)));
}

std::vector<Record> run(Context& context, const Params& params) {
  Problems problems;
  const std::string split = params.has("split") ? params.text("split") : "";
  check_split(context.place, split, problems);
  throw_agreed(context.comm, "clusterbench mpi", problems);
  const Group group = make_group(context.place, context.comm.rank(), split);
  const std::vector<CollectivePoint> points =
      plan_collectives(context, params, group.size, problems);
  throw_agreed(context.comm, "clusterbench mpi", problems);
  std::vector<Record> records;
  try {
    for (size_t i = 0; i < points.size(); ++i) {
      context.progress.update(static_cast<double>(i) / static_cast<double>(points.size()),
                              points[i].plan.what);
      records.push_back(measure(context, params, points[i], group));
      note_dip(records);
      context.publish(records.back());
    }
  } catch (const Interrupted&) {
    throw Interrupted(std::move(records));
  }
  return records;
}

}  // namespace

Case mpi_case() { return {describe(), run}; }

}  // namespace cb
