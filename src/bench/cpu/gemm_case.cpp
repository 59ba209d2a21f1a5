// Matrix product C = A·B on the host's cores with the fastest library that works here. Counted:
// 2·M·N·K operations over the time of the product alone; filling, checking and choosing the library
// are not. Ranks of a host measure at the same time, each on its own cores.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "bench/cases.h"
#include "bench/cpu/blas_choice.h"
#include "bench/cpu/freivalds.h"
#include "bench/cpu/memory.h"
#include "bench/cpu/peak.h"
#include "bench/cpu/rank_cores.h"
#include "bench/cpu/sweep.h"
#include "bench/harness/fault.h"
#include "bench/harness/points.h"
#include "bench/harness/shared_params.h"
#include "core/clock.h"
#include "core/param_builder.h"

namespace cb {
namespace {

constexpr int kVectors = 4;      // of the check; each finds a wrong element
constexpr int kPeakBursts = 60;  // before and after the product, half a millisecond each
constexpr double kClockEverySeconds = 0.05;  // a look at the clock takes 0.3 ms

CaseInfo describe() {
  using namespace param;
  return {
      .name = "gemm",
      .device = "cpu",
      .summary = "matrix product on the host's cores, with the fastest library found by measuring",
      .example = "clusterbench gemm --device cpu --dtype fp64,fp32 --size 4096 --json g.json",
      .domain = "compute",
      .needs = {},
      .params = joined(
          {{device_param("cpu", "where to multiply"),
            choice("dtype", {"fp64", "fp32", "bf16", "int8"})
                .help("types of A and B; sums are fp64, fp32, fp32, int32")
                .by_default("fp64")
                .list(),
            size("size").help("M = N = K").by_default("4096").range(1, 65536).list(),
            size("min-size").help("first size of a sweep").range(1, 65536),
            size("max-size").help("last size of a sweep").range(1, 65536),
            number("step-factor").help("between sizes of a sweep").by_default("2").range(1.01, 64)},
           edge_params(1),
           {threads_param(),
            choice("library", {"auto", "openblas", "blis", "onednn", "builtin"})
                .help("library that multiplies")
                .by_default("auto"),
            seed_param("of the data"), iterations_param(), sampling_param("5s"),
            fault_param("changes an element of the product, to prove that it is seen")}}),
      .metrics = {{"flops_per_second", "flops_per_second", Better::higher, "fp64, fp32, bf16"},
                  {"operations_per_second", "operations_per_second", Better::higher, "int8"},
                  {"clock_hertz", "hertz", Better::higher, "of the cores, right after a product"},
                  {"share_of_peak", "share", Better::higher, "of the cores' theoretical peak"}},
      .checks = {"product"},
      .fault = {.planted = said("fault.product"),
                .checks = {"product"},
                .brief = {{"iterations", {"1"}}},
                .point_seconds = 5},
  };
}

// One point of the measurement.
struct Point {
  GemmType type;
  GemmShape shape;
  Params params;
};

PointName name_of(const Point& point) {
  return {point.params, fmt::format("{} {}×{}×{}", gemm_type_name(point.type), point.shape.m,
                                    point.shape.n, point.shape.k)};
}

std::vector<Point> points_of(const Params& params) {
  std::vector<Point> out;
  const bool by_edges = params.has("m") || params.has("n") || params.has("k");
  for (const std::string& name : params.texts("dtype")) {
    const GemmType type = gemm_type(name);
    if (by_edges) {
      const auto edge = [&](const char* key) {
        if (!params.has(key))
          throw UsageError("clusterbench gemm", fmt::format("--{}", key),
                           "is missing: --m, --n and --k go together");
        return params.integer(key);
      };
      Params mine = params.with("dtype", name);
      mine.erase("size");
      out.push_back({type, {edge("m"), edge("n"), edge("k")}, mine});
      continue;
    }
    for (const int64_t size : sizes_of(params, 256, 4096)) {
      Params mine = params.with("dtype", name).with("size", size);
      for (const char* key : {"min-size", "max-size", "step-factor"}) mine.erase(key);
      out.push_back({type, {size, size, size}, mine});
    }
  }
  return out;
}

SamplePlan plan_of(const Params& params) {
  SamplePlan plan;
  plan.stop.max_seconds = params.number("duration");
  if (params.has("iterations")) {
    plan.stop.min_samples = plan.stop.max_samples =
        static_cast<uint64_t>(params.integer("iterations"));
    plan.stop.target_half_width = 0;
    plan.stop.max_seconds = 1e9;
  }
  return plan;
}

Entity entity_of(const Context& context) {
  if (context.place.local_size == 1) return {context.place.host, "host", context.place.host};
  return {context.place.host, "cpu", fmt::format("rank {}", context.comm.rank())};
}

struct Sampled {
  Samples seconds;
  Samples clock;
};

Sampled sample(Context& context, const HostGemm& gemm, const GemmData& data, Team& team,
               const SamplePlan& plan) {
  Samples clock;
  double last_clock = 0;
  const SampleRun run = context.sampler.measure_self_timed(plan, [&] {
    context.comm.barrier();
    const double start = monotonic_seconds();
    gemm.multiply(data);
    const double end = monotonic_seconds();
    if (end - last_clock > kClockEverySeconds) {
      clock.add(measure_clock_hertz(team));
      last_clock = monotonic_seconds();
    }
    return end - start;
  });
  return {run.seconds, std::move(clock)};
}

std::optional<MeasuredPeak> peak_together(Context& context, GemmType type, Team& team) {
  context.comm.barrier();
  context.watchdog.progress();
  return measure_peak(type, team, kPeakBursts);
}

std::optional<Ceiling> ceiling_of(const std::optional<MeasuredPeak>& before,
                                  const std::optional<MeasuredPeak>& after, const Team& team) {
  if (!before || !after) return std::nullopt;
  const MeasuredPeak& best =
      before->operations_per_second > after->operations_per_second ? *before : *after;
  return Ceiling{best.operations_per_second,
                 said_count("gemm.measured_peak", team.size(), best.isa)};
}

// All samples as rates of `work` a sample.
Samples rates(const Samples& seconds, double work) {
  return seconds.mapped([&](double s) { return work / s; });
}

// Share of cores × FLOP per cycle × the clock measured in this record.
void add_share_of_peak(Context& context, Record& record, const Point& point, const Sampled& sampled,
                       const std::optional<Ceiling>& measured, int cores) {
  const auto cpu = read_cpu_id(context.fs);
  const double cycles = sampled.clock.summary().median * cores;
  const auto per_cycle =
      cpu ? flops_per_cycle(*cpu, point.type, measured ? measured->value / cycles : 0)
          : std::nullopt;
  if (!per_cycle) {
    if (point.type == GemmType::fp64 || point.type == GemmType::fp32)
      record.notes.push_back(said("gemm.peak_unknown"));
    return;
  }
  record.facts["theoretical_peak"] = per_cycle->how;
  record.add("share_of_peak", 0,
             rates(sampled.seconds, gemm_operations(point.shape) / (per_cycle->value * cycles)));
}

void add_product_check(Record& record, const ProductCheck& check) {
  Check out{.name = "product",
            .passed = check.passed,
            .limit = check.limit,
            .entity = 0,
            .detail = check.detail};
  if (std::isfinite(check.value)) out.value = check.value;
  record.checks.push_back(std::move(out));
}

// Cores that the threads run on: two threads of one core are one core.
int distinct_cores(const RankCores& mine, const Team& team) {
  int count = 0;
  for (const Core& core : mine.cores) {
    count += std::any_of(core.cpus.begin(), core.cpus.end(), [&](int cpu) {
      return std::find(team.cpus().begin(), team.cpus().end(), cpu) != team.cpus().end();
    });
  }
  return count;
}

void add_facts(Record& record, const HostGemm& gemm, const Choice& choice, const Team& team,
               bool root) {
  record.facts = {{"library", gemm.library}, {"threads", std::to_string(team.size())}};
  if (!gemm.version.empty()) record.facts["library_version"] = gemm.version;
  if (!gemm.core.empty()) record.facts["core_type"] = gemm.core;
  // Of one host only: figures differ on every host, and a thousand of them help nobody.
  if (root) record.facts["candidates"] = choice.figures;
}

Record measure(Context& context, const Point& point, const HostGemm& gemm, const Choice& choice,
               const RankCores& cores, Team& team) {
  Record record{.case_name = "gemm", .params = point.params};
  record.entity(entity_of(context));
  add_facts(record, gemm, choice, team, context.comm.is_root());
  if (cores.oversubscribed) record.notes.push_back(said("gemm.crowded"));
  require_memory(context, gemm_bytes(point.type, point.shape));

  const auto seed = static_cast<uint64_t>(point.params.integer("seed"));
  GemmData data(point.type, point.shape, seed, team);
  const auto before = peak_together(context, point.type, team);
  const Sampled sampled = sample(context, gemm, data, team, plan_of(point.params));
  const auto after = peak_together(context, point.type, team);
  data.poison();
  gemm.multiply(data);
  if (plants_fault(context, point.params)) data.spoil();
  const ProductCheck check = check_product(data, seed + 1, kVectors, team);
  add_product_check(record, check);
  if (!check.passed) return record;  // wrong data yields no number

  const auto ceiling = ceiling_of(before, after, team);
  const bool integers = point.type == GemmType::int8;
  const char* rate = integers ? "operations_per_second" : "flops_per_second";
  record.add(rate, 0, rates(sampled.seconds, gemm_operations(point.shape)), ceiling);
  record.add("clock_hertz", 0, sampled.clock);
  add_share_of_peak(context, record, point, sampled, ceiling, distinct_cores(cores, team));
  return record;
}

// Small enough to ask a dozen candidates in seconds, large enough that they rank as at full size.
int64_t probe_size(const std::vector<Point>& points) {
  int64_t largest = 1;
  for (const Point& p : points)
    largest = std::max({largest, std::min({p.shape.m, p.shape.n, p.shape.k})});
  return std::clamp<int64_t>(largest, 64, 1024);
}

// Collective: fails on every rank if the library does not open on one.
HostGemm open_chosen(Context& context, const Candidate& candidate, GemmType type, Team& team) {
  auto opened = open_host_gemm(candidate.library, candidate.core, type, team);
  const auto* absent = std::get_if<host_blas::Absent>(&opened);
  throw_where_failed(context.comm, absent == nullptr
                                       ? Said()
                                       : said("gemm.does_not_open", context.who(),
                                              candidate_name(candidate), absent->reason));
  return std::get<HostGemm>(std::move(opened));
}

std::vector<Record> run(Context& context, const Params& params) {
  const std::vector<Point> points = points_of(params);
  require_faulty_rank(context, params);
  const RankCores cores = cores_of_rank(context.comm, context.place);
  Team team(cpus_of_rank(context.comm, cores, params));
  ProbeRequest request{
      .candidate = {}, .types = {}, .cpus = team.cpus(), .size = probe_size(points)};
  for (const Point& p : points) {
    if (std::find(request.types.begin(), request.types.end(), p.type) == request.types.end())
      request.types.push_back(p.type);
  }
  const auto choices = choose_on_hosts(context, request, params.text("library"), probe_in_child);
  std::map<GemmType, HostGemm> opened;
  const auto measure_one = [&](const Point& point) {
    const Choice& choice = choices.at(point.type);
    if (!opened.contains(point.type))
      opened[point.type] = open_chosen(context, choice.candidate, point.type, team);
    return measure(context, point, opened.at(point.type), choice, cores, team);
  };
  return run_points(context, "gemm", points, name_of, measure_one);
}

}  // namespace

Case gemm_cpu_case() { return {describe(), run}; }

}  // namespace cb
