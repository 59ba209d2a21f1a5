#include "bench/mpi/plan.h"

#include <climits>
#include <limits>

#include <fmt/format.h>

#include "core/units.h"
#include "sys/host_memory.h"

namespace cb {
namespace {

// MPI keeps buffers of its own while it reduces, and the host needs some memory too.
constexpr double kShareOfMemory = 0.75;
constexpr double kDefaultSeconds = 1;
constexpr size_t kMostSizes = 10001;

std::vector<int64_t> sizes_of(const Params& params, Problems& problems) {
  if (params.has("size")) return params.integers("size");
  const int64_t last = params.integer("max-size");
  const int64_t factor = params.integer("step-factor");
  std::vector<int64_t> sizes;
  if (params.has("step-bytes")) {
    const int64_t step = params.integer("step-bytes");
    for (int64_t s = params.integer("min-size"); s <= last && sizes.size() < kMostSizes; s += step)
      sizes.push_back(s);
    if (sizes.size() == kMostSizes)
      problems.add("--step-bytes", fmt::format("gives more than {} sizes", kMostSizes - 1));
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
  if (counted) {
    plan.stop.max_samples = static_cast<uint64_t>(params.integer("iterations"));
    plan.stop.target_half_width = 0;  // exactly that many
  }
  plan.warm_up_seconds = 0.5;
  plan.warm_up_samples = 20;
  return plan;
}

void check_memory(const Context& context, const CollectivePoint& p, Problems& problems) {
  const auto available = available_memory_bytes(context.fs);
  const uint64_t needed = CollectiveCall::buffer_bytes(p.size, element_bytes(p.type)) *
                          static_cast<uint64_t>(context.place.local_size);
  if (!available || static_cast<double>(needed) <= kShareOfMemory * static_cast<double>(*available))
    return;
  problems.add("--size", fmt::format("{} {} needs {} for {} ranks on {}, which has {} available: "
                                     "ask for a smaller --size or --max-size",
                                     collective_name(p.collective), format_size(p.asked_bytes),
                                     format_value(static_cast<double>(needed), "bytes"),
                                     context.place.local_size, context.place.host,
                                     format_value(static_cast<double>(*available), "bytes")));
}

void add_point(const Context& context, CollectivePoint point, uint64_t ranks,
               std::vector<CollectivePoint>& points, Problems& problems) {
  const uint64_t width = element_bytes(point.type);
  const char* name = collective_name(point.collective);
  const auto size =
      collective_size(point.collective, static_cast<uint64_t>(point.asked_bytes), width, ranks);
  if (!size) {
    problems.add("--size", fmt::format("{} {} is too small for {} ranks: all_gather, "
                                       "reduce_scatter, alltoall(v), gather and scatter need {} "
                                       "or more, the others {}",
                                       name, format_size(point.asked_bytes), ranks,
                                       format_size(static_cast<int64_t>(16 * ranks)), width));
    return;
  }
  if (size->block > INT_MAX) {
    problems.add("--size", fmt::format("{} {} has more elements than one MPI call counts: use a "
                                       "wider --dtype or a smaller size",
                                       name, format_size(point.asked_bytes)));
    return;
  }
  point.size = *size;
  point.plan.what = fmt::format("{} {}", name, format_size(point.asked_bytes));
  const size_t before = problems.list.size();
  check_memory(context, point, problems);
  if (problems.list.size() == before) points.push_back(std::move(point));
}

}  // namespace

std::vector<CollectivePoint> plan_collectives(const Context& context, const Params& params,
                                              int ranks, Problems& problems) {
  CollectivePoint point{.type = element_type_of(params.text("dtype")),
                        .reduction = reduction_of(params.text("reduction")),
                        .plan = sample_plan(params),
                        .checks = static_cast<int>(params.integer("checks")),
                        .in_place = params.flag("in-place")};
  if (params.has("inject-fault")) {
    point.faulty_rank = params.integer("inject-fault");
    if (*point.faulty_rank >= context.comm.size())
      problems.add("--inject-fault", fmt::format("there is no rank {}", *point.faulty_rank));
  }
  std::vector<CollectivePoint> points;
  const std::vector<int64_t> sizes = sizes_of(params, problems);
  for (const std::string& op : params.texts("op")) {
    point.collective = collective_of(op);
    if (params.has("split") && is_pairwise(point.collective)) {
      problems.add("--split", op + " works in pairs already: leave --split out");
      continue;
    }
    if (point.in_place && !has_in_place(point.collective)) {
      problems.add("--in-place", op + " has no in-place form: all_reduce, all_gather, "
                                      "reduce_scatter and alltoall have one");
      continue;
    }
    for (const int64_t size : sizes) {
      point.asked_bytes = size;
      add_point(context, point, static_cast<uint64_t>(ranks), points, problems);
    }
  }
  return points;
}

}  // namespace cb
