#include "bench/collectives/plan.h"

#include <bit>
#include <limits>

#include <fmt/format.h>

#include "bench/harness/fault.h"
#include "bench/harness/shared_params.h"
#include "core/param_builder.h"
#include "core/units.h"
#include "sys/cpu/host_memory.h"

namespace cb {
namespace {

// MPI keeps buffers of its own while it reduces, and the host needs some memory too.
constexpr double kShareOfMemory = 0.75;
constexpr double kDefaultSeconds = 1;
// Of warm-up, and again of sampling. The first thousands of calls of less than a microsecond are
// slower than all later ones, and agree with each other: docs/design/decisions/0145.
constexpr double kLeastSeconds = 0.02;
constexpr size_t kMaxSizes = 10001;

std::vector<int64_t> sizes_of(const Params& params, Problems& problems) {
  if (params.has("size")) return params.integers("size");
  const int64_t last = params.integer("max-size");
  const int64_t factor = params.integer("step-factor");
  std::vector<int64_t> sizes;
  if (params.has("step-bytes")) {
    const int64_t step = params.integer("step-bytes");
    for (int64_t s = params.integer("min-size"); s <= last && sizes.size() < kMaxSizes; s += step)
      sizes.push_back(s);
    if (sizes.size() == kMaxSizes)
      problems.add("--step-bytes", fmt::format("gives more than {} sizes", kMaxSizes - 1));
    return sizes;
  }
  for (int64_t s = params.integer("min-size"); s <= last; s *= factor) {
    sizes.push_back(s);
    if (s > std::numeric_limits<int64_t>::max() / factor) break;
  }
  if (sizes.empty()) problems.add("--min-size", "is larger than --max-size");
  return sizes;
}

SamplePlan sample_plan(const Params& params) {
  SamplePlan plan;
  const bool counted = params.has("iterations");
  plan.stop.max_seconds = params.has("duration") ? params.number("duration")
                          : counted              ? std::numeric_limits<double>::infinity()
                                                 : kDefaultSeconds;
  plan.stop.min_samples = 20;
  plan.stop.min_seconds = kLeastSeconds;
  if (counted) {
    plan.stop.max_samples = static_cast<uint64_t>(params.integer("iterations"));
    plan.stop.target_half_width = 0;  // exactly that many
  }
  plan.warm_up_seconds = 0.5;
  plan.warm_up_samples = 20;
  plan.warm_up_at_least = kLeastSeconds;
  return plan;
}

// What the elements are and how they are reduced; in the label what differs between the points.
struct ElementKind {
  ElementType type;
  Reduction reduction;
  std::string label;  // " double", " double max", or empty where one kind is asked for
};

// Every type with every reduction; with the first one where nothing is reduced.
std::vector<ElementKind> element_kinds(const Params& params, bool reduced) {
  const std::vector<std::string> types = params.texts("dtype");
  std::vector<std::string> reductions = params.texts("reduction");
  if (!reduced) reductions.resize(1);
  std::vector<ElementKind> out;
  for (const std::string& type : types) {
    for (const std::string& reduction : reductions)
      out.push_back(
          {element_type_of(type), reduction_of(reduction),
           (types.size() > 1 ? " " + type : "") + (reductions.size() > 1 ? " " + reduction : "")});
  }
  return out;
}

void add_point(CollectivePoint point, const ElementKind& element, const PlanLimits& limits,
               std::vector<CollectivePoint>& points, Problems& problems) {
  point.type = element.type;
  point.reduction = element.reduction;
  const auto ranks = static_cast<uint64_t>(limits.ranks);
  const uint64_t width = element_bytes(point.type);
  const char* name = collective_name(point.collective);
  const auto size =
      collective_size(point.collective, static_cast<uint64_t>(point.asked_bytes), width, ranks);
  if (!size) {
    const uint64_t least = least_bytes(point.collective, width, ranks);
    problems.add("--size", fmt::format("{} {} is too small for {} ranks: it needs {} or more", name,
                                       format_size(point.asked_bytes), ranks,
                                       format_size(static_cast<int64_t>(least))));
    return;
  }
  if (size->block > limits.most_elements) {
    problems.add("--size", fmt::format("{} {} has more elements than one call counts: use a "
                                       "wider --dtype or a smaller size",
                                       name, format_size(point.asked_bytes)));
    return;
  }
  point.size = *size;
  point.plan.what = fmt::format("{} {}{}", name, format_size(point.asked_bytes), element.label);
  const std::string no_room = limits.no_room ? limits.no_room(point) : "";
  if (no_room.empty())
    points.push_back(std::move(point));
  else
    problems.add("--size", fmt::format("{} {} {}: ask for a smaller --size or --max-size", name,
                                       format_size(point.asked_bytes), no_room));
}

bool has_in_place(Collective collective, InPlace form) {
  return cb::has_in_place(collective) &&
         (form == InPlace::mpi || collective != Collective::alltoall);
}

// An average is verified exactly: of floats that needs a division that does not round.
void check_average(const ElementKind& element, int ranks, Problems& problems) {
  if (element.reduction != Reduction::avg) return;
  if (element.type >= ElementType::float32 && !std::has_single_bit(static_cast<unsigned>(ranks)))
    problems.add("--reduction", fmt::format("avg is verified exactly, and so of floats only over a "
                                            "number of ranks that is a power of two, not {}",
                                            ranks));
  if (element.type >= ElementType::fp8_e4m3)
    problems.add("--reduction", "avg of 8-bit floats is not exact: use sum");
}

}  // namespace

std::string no_host_room(const Context& context, const CollectivePoint& p, size_t lanes) {
  const auto available = available_memory_bytes(context.fs);
  const uint64_t needed = RankBuffers::buffer_bytes(p.size, element_bytes(p.type)) *
                          static_cast<uint64_t>(context.place.local_size) * lanes;
  if (!available || static_cast<double>(needed) <= kShareOfMemory * static_cast<double>(*available))
    return "";
  return fmt::format("needs {} for {} ranks on {}, which has {} available",
                     format_value(static_cast<double>(needed), "bytes"), context.place.local_size,
                     context.place.host, format_value(static_cast<double>(*available), "bytes"));
}

std::vector<ParamDef> collective_params(const std::vector<std::string>& types,
                                        const std::vector<std::string>& reductions,
                                        const char* max_size) {
  using namespace param;
  return {choice("op", collective_names())
              .help("collectives, named as in nccl-tests")
              .by_default("all_reduce")
              .list(),
          size("size").help("these sizes instead of a sweep").at_least(1).list(),
          size("min-size").help("first size of the sweep").by_default("1K").at_least(1),
          size("max-size").help("last size of the sweep").by_default(max_size).at_least(1),
          step_factor_param("4"),
          size("step-bytes")
              .help("each size is this more than the one before, instead of --step-factor")
              .at_least(1),
          text("split").help("groups that measure at the same time: host, rail (ranks of the same "
                             "place on their hosts), pair, half, N groups by rank modulo N, or "
                             "grid:DP,TP,PP: every rank in a group of each dimension, all at once"),
          flag("in-place").help("send from the receive buffer"),
          choice("dtype", types).help("types of the elements").by_default("float").list(),
          choice("reduction", reductions)
              .help("operation of all_reduce, reduce_scatter and reduce")
              .by_default("sum")
              .list(),
          integer("iterations").help("exactly this many per size").range(1, 10000000),
          duration("duration")
              .help("at most this long per size, 1s unless --iterations is given")
              .at_least(0.001),
          integer("checks")
              .help("calls per size, besides timed ones, of which every element is verified")
              .by_default("20")
              .range(1, 100000),
          fault_param("flips a bit of what it receives, to prove that it is seen")};
}

FaultPlan collective_fault() {
  return {.planted = said("fault.received_bit"),
          .checks = {"data"},
          .brief = {{"iterations", {"1"}}},
          .point_seconds = 0.5};
}

std::vector<MetricDef> collective_metrics() {
  return {
      {"time_seconds", "seconds", Better::lower, "of one call, per rank"},
      {"algorithm_bytes_per_second", "bytes_per_second", Better::higher,
       "size over the slowest rank's time, per iteration"},
      {"bus_bytes_per_second", "bytes_per_second", Better::higher,
       "algorithm bandwidth times the bus factor of nccl-tests"},
      {"dp_bus_bytes_per_second", "bytes_per_second", Better::higher,
       "of a grid's data-parallel groups, beside the groups of the other dimensions"},
      {"tp_bus_bytes_per_second", "bytes_per_second", Better::higher,
       "of a grid's tensor-parallel groups"},
      {"pp_bus_bytes_per_second", "bytes_per_second", Better::higher,
       "of a grid's pipeline-parallel groups"},
      {"pair_bytes_per_second", "bytes_per_second", Better::higher,
       "pair_one_way and pair_two_way: in one direction, per pair"},
      {"late_seconds", "seconds", Better::lower,
       "how long after the first rank this one began the call, per rank"},
      {"latency_seconds", "seconds", Better::lower, "pingpong: half of the round trip, per pair"}};
}

SamplePlan plan_of_long_samples(const Params& params, uint64_t warm_up_samples) {
  SamplePlan plan;
  const bool counted = params.has("iterations");
  plan.stop.max_seconds =
      counted ? std::numeric_limits<double>::infinity() : params.number("duration");
  plan.stop.min_samples = 5;
  if (counted) {
    plan.stop.min_samples = plan.stop.max_samples =
        static_cast<uint64_t>(params.integer("iterations"));
    plan.stop.target_half_width = 0;  // exactly that many
  }
  plan.warm_up_seconds = 0.5;
  plan.warm_up_samples = warm_up_samples;
  return plan;
}

std::vector<CollectivePoint> plan_collectives(const Context& context, const Params& params,
                                              const PlanLimits& limits, Problems& problems) {
  CollectivePoint point{.plan = sample_plan(params),
                        .checks = static_cast<int>(params.integer("checks")),
                        .in_place = params.flag("in-place") ? limits.in_place : InPlace::no};
  for (const ElementKind& element : element_kinds(params, true))
    check_average(element, limits.ranks, problems);
  check_faulty_rank(context, params, problems);
  if (params.has("inject-fault")) point.faulty_rank = params.integer("inject-fault");
  std::vector<CollectivePoint> points;
  const std::vector<int64_t> sizes = sizes_of(params, problems);
  for (const std::string& op : params.texts("op")) {
    point.collective = collective_of(op);
    if (params.has("split") && is_pairwise(point.collective)) {
      problems.add("--split", op + " works in pairs already: leave --split out");
      continue;
    }
    if (point.in_place != InPlace::no && !has_in_place(point.collective, point.in_place)) {
      problems.add(
          "--in-place",
          fmt::format("{} has no in-place form: all_reduce, all_gather, reduce_scatter{}", op,
                      limits.in_place == InPlace::mpi ? " and alltoall have one" : " have one"));
      continue;
    }
    for (const ElementKind& element : element_kinds(params, reduces(point.collective))) {
      for (const int64_t size : sizes) {
        point.asked_bytes = size;
        add_point(point, element, limits, points, problems);
      }
    }
  }
  return points;
}

std::vector<std::vector<CollectivePoint>> plan_lanes(const Context& context, const Params& params,
                                                     const std::vector<int>& ranks,
                                                     PlanLimits limits, Problems& problems) {
  std::vector<std::vector<CollectivePoint>> out;
  for (const int n : ranks) {
    limits.ranks = n;
    out.push_back(plan_collectives(context, params, limits, problems));
  }
  return problems.empty() ? out : std::vector<std::vector<CollectivePoint>>{};
}

}  // namespace cb
