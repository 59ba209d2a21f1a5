// Conjugate gradients with HPCG's operator and preconditioner on the host's cores: what memory
// gives to sparse problems. "HPCG-like": no figure for a list. Counted: HPCG's operations over the
// time of the iterations; building the problem and checking are not.
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include <fmt/format.h>

#include "bench/cases.h"
#include "bench/cpu/cg.h"
#include "bench/cpu/rank_cores.h"
#include "bench/cpu/stream_team.h"
#include "bench/harness/fault.h"
#include "bench/harness/points.h"
#include "bench/harness/shared_params.h"
#include "core/clock.h"
#include "core/param_builder.h"

namespace cb {
namespace {

constexpr int kIterations = 50;          // of a set, as in HPCG
constexpr double kTrueResidual = 1e-10;  // between recursion and solution
constexpr double kSymmetryLimit = 10;    // in units of what rounding gives
constexpr int64_t kSmallEdge = 32;       // of the system on which convergence is checked
constexpr double kSmallTolerance = 1e-9;
constexpr double kSmallError = 1e-6;
constexpr int kSmallMost = 500;
constexpr int kTriadPasses = 5;  // before the sets and after them

CaseInfo describe() {
  using namespace param;
  return {
      .name = "cg",
      .device = "cpu",
      .summary = "sparse equations by conjugate gradients on the host's cores, HPCG-like",
      .example = "clusterbench cg --size 104 --json c.json",
      .domain = "memory",
      .needs = {},
      .params = {device_param("cpu", "where to solve"),
                 integer("size")
                     .help("points along each edge of a rank's cube, a multiple of 8")
                     .by_default("104")
                     .range(16, 1024)
                     .list(),
                 threads_param(),
                 integer("iterations").help("sets of 50 iterations").by_default("3").range(1, 1e6),
                 seed_param("of the vectors of the symmetry check"),
                 fault_param("changes an element of the solution, to prove that it is seen")},
      .metrics = {{"flops_per_second", "flops_per_second", Better::higher,
                   "HPCG's count over time"},
                  {"bytes_per_second", "bytes_per_second", Better::higher,
                   "bytes that an iteration moves at least, over time"},
                  {"time_seconds", "seconds", Better::lower, "of one iteration"}},
      .checks = {"symmetry", "convergence", "residual"},
      .fault = {.planted = said("fault.solution"),
                .checks = {"residual"},
                .brief = {{"iterations", {"1"}}, {"size", {"32"}}},
                .point_seconds = 3},
  };
}

// The departure from xᵀ·(My) = yᵀ·(Mx) in units of ε·√n·(‖x‖·‖My‖ + ‖y‖·‖Mx‖): about what rounding
// of sums of n terms with random signs gives.
double departure(const CgProblem& problem, double points, const CubeVector& x, const CubeVector& y,
                 const CubeVector& mx, const CubeVector& my) {
  const auto norm = [&](const CubeVector& v) { return std::sqrt(problem.dot(v, v)); };
  return std::abs(problem.dot(x, my) - problem.dot(y, mx)) /
         (0x1p-53 * std::sqrt(points) * (norm(x) * norm(my) + norm(y) * norm(mx)));
}

Check symmetry_check(const Context& context, CgProblem& problem, int64_t edge, uint64_t seed) {
  CubeVector x = problem.vector(), y = problem.vector();
  CubeVector mx = problem.vector(), my = problem.vector();
  problem.fill_random(x, seed + 1);
  problem.fill_random(y, seed + 2);
  const auto points = static_cast<double>(edge * edge * edge);
  problem.multiply(x, mx);
  problem.multiply(y, my);
  const double product = departure(problem, points, x, y, mx, my);
  problem.precondition(x, mx);
  problem.precondition(y, my);
  const double cycle = departure(problem, points, x, y, mx, my);
  Check out{.name = "symmetry", .limit = kSymmetryLimit};
  out.passed = product < kSymmetryLimit && cycle < kSymmetryLimit;
  const double worst = std::max(product, cycle);
  if (std::isfinite(product) && std::isfinite(cycle)) out.value = worst;
  if (!out.passed) out.detail = said("cg.not_symmetric", context.who(), product, cycle);
  return out;
}

// On a small cube with the same threads: both solve, and the preconditioner takes less than half of
// the iterations.
Check convergence_check(const Context& context, Team& team, const std::function<void()>& moved) {
  const int64_t edge = std::max<int64_t>(kSmallEdge, 8 * team.size());
  CgProblem small(edge, team);
  const auto with = small.solve(kSmallMost, kSmallTolerance, true, moved);
  const auto without = small.solve(kSmallMost, kSmallTolerance, false, moved);
  Check out{.name = "convergence", .value = with.iterations, .limit = without.iterations / 2.0};
  out.passed = with.residual <= kSmallTolerance && without.residual <= kSmallTolerance &&
               with.error < kSmallError && without.error < kSmallError && *out.value < *out.limit;
  if (!out.passed)
    out.detail = said("cg.not_converged", context.who(), with.iterations, with.residual,
                      without.iterations, without.residual);
  return out;
}

struct Sets {
  Samples seconds;  // of one iteration
  double residual = 0;
  double departure = 0;  // the largest between recursion and solution
  bool repeats = true;   // every set ended with the same bits
};

Sets measure_sets(Context& context, const Params& params, CgProblem& problem,
                  const std::function<void()>& moved) {
  Sets out;
  SamplePlan plan{.warm_up_seconds = 0, .warm_up_samples = 0, .what = "CG"};
  plan.stop.min_samples = plan.stop.max_samples =
      static_cast<uint64_t>(params.integer("iterations"));
  plan.stop.target_half_width = 0;
  plan.stop.max_seconds = 1e9;
  std::optional<double> first;
  const bool spoil = plants_fault(context, params);
  const SampleRun run = context.sampler.measure_self_timed(plan, [&] {
    context.comm.barrier();
    double seconds = 0;
    const double start = monotonic_seconds();
    // The time ends with the last iteration: what follows in solve() is a check.
    const auto solution = problem.solve(
        kIterations, 0, true,
        [&] {
          seconds = monotonic_seconds() - start;
          moved();
        },
        spoil);
    const double gap = std::abs(solution.true_residual - solution.residual);
    if (!(gap <= out.departure) && !std::isnan(out.departure)) out.departure = gap;
    if (!first) first = solution.residual;
    out.repeats = out.repeats && solution.residual == *first;
    out.residual = solution.residual;
    return seconds / kIterations;
  });
  out.seconds = run.seconds;
  return out;
}

Check residual_of_sets(const Context& context, const Sets& sets) {
  Check out{.name = "residual", .limit = kTrueResidual};
  if (std::isfinite(sets.departure)) out.value = sets.departure;
  out.passed = sets.departure < kTrueResidual && sets.repeats && sets.residual < 1;
  if (!sets.repeats)
    out.detail = said("cg.not_repeated", context.who());
  else if (!out.passed)
    out.detail = said("cg.wrong", context.who(), sets.residual, sets.departure);
  return out;
}

// Bytes per second of the triad on as much memory as the problem takes, by the same cores.
double triad_rate(StreamTeam& stream) {
  const StreamVariant& variant = stream.fastest(StreamOp::triad, "auto");
  double best = 0;
  for (int i = 0; i < kTriadPasses; ++i) {
    const double seconds = stream.pass(StreamOp::triad, variant);
    best = std::max(best, static_cast<double>(stream.elements()) * 24 / seconds);
  }
  return best;
}

Entity entity_of(const Context& context) {
  if (context.place.local_size == 1) return {context.place.host, "host", context.place.host};
  return {context.place.host, "cpu", fmt::format("rank {}", context.comm.rank())};
}

Record measure(Context& context, const Params& params, const RankCores& cores,
               std::vector<int> cpus) {
  Record record{.case_name = "cg", .params = params};
  record.entity(entity_of(context));
  const int64_t edge = params.integer("size");
  // Each thread needs a plane of the coarsest level. Only --threads insists on more.
  const auto most = static_cast<size_t>(edge / 8);
  if (!params.has("threads") && cpus.size() > most) {
    record.notes.push_back(said("cg.fewer_threads", edge, most, cpus.size()));
    cpus.resize(most);
  }
  throw_where_failed(context.comm, cg_divides(edge, static_cast<int>(cpus.size()))
                                       ? Said()
                                       : said("cg.edge", edge, cpus.size()));
  record.facts["threads"] = std::to_string(cpus.size());
  record.notes.push_back(said("cg.like"));
  if (cores.oversubscribed) record.notes.push_back(said("gemm.crowded"));
  require_memory(context, 2 * cg_memory(edge));

  const bool alone = context.comm.size() == 1;
  const auto moved = [&] {
    context.watchdog.progress();
    if (alone && context.cancel.cancelled()) throw Interrupted();
  };
  StreamTeam stream(cpus, static_cast<size_t>(cg_memory(edge)) / 24);
  context.comm.barrier();
  double triad = triad_rate(stream);
  Team team(cpus);
  CgProblem problem(edge, team);
  record.checks.push_back(
      symmetry_check(context, problem, edge, static_cast<uint64_t>(params.integer("seed"))));
  record.checks.push_back(convergence_check(context, team, moved));
  const Sets sets = measure_sets(context, params, problem, moved);
  triad = std::max(triad, triad_rate(stream));
  record.checks.push_back(residual_of_sets(context, sets));
  const bool good = std::all_of(record.checks.begin(), record.checks.end(),
                                [](const Check& c) { return c.passed; });
  if (!good) return record;  // wrong data yields no number

  const auto rate = [&](double amount) {
    return sets.seconds.mapped([amount](double seconds) { return amount / seconds; });
  };
  record.add("flops_per_second", 0, rate(cg_operations(edge)));
  record.add("bytes_per_second", 0, rate(cg_bytes(edge)),
             Ceiling{triad, said("cg.ceiling", static_cast<int64_t>(cpus.size()))});
  record.add("time_seconds", 0, sets.seconds);
  return record;
}

std::vector<Record> run(Context& context, const Params& params) {
  require_faulty_rank(context, params);
  const RankCores cores = cores_of_rank(context.comm, context.place);
  const std::vector<int> cpus = cpus_of_rank(context.comm, cores, params);
  return run_points(
      context, "cg", params.integers("size"),
      [&](int64_t size) {
        return PointName{params.with("size", size), fmt::format("{0}×{0}×{0}", size)};
      },
      [&](int64_t size) { return measure(context, params.with("size", size), cores, cpus); });
}

void check(const Params& params, Problems& problems) {
  for (const int64_t size : params.integers("size")) {
    if (size % 8 != 0) problems.add("--size", fmt::format("{} is no multiple of 8", size));
  }
}

}  // namespace

Case cg_cpu_case() { return {describe(), run, check}; }

}  // namespace cb
