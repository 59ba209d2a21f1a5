// A dense system of equations by LU with row pivoting on the host's cores, as HPL does, with the
// library that multiplies fastest. "HPL-like": no figure for a list. Counted: HPL's operations over
// the time of factoring and solving; filling and checking are not.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "bench/cases.h"
#include "bench/cpu/blas_choice.h"
#include "bench/cpu/lu.h"
#include "bench/cpu/rank_cores.h"
#include "bench/harness/fault.h"
#include "bench/harness/points.h"
#include "bench/harness/shared_params.h"
#include "core/clock.h"
#include "core/param_builder.h"
#include "model/hpl.h"

namespace cb {
namespace {

constexpr int64_t kProductEdge = 1024;  // of the products that give the ceiling
constexpr int kProductBursts = 3;       // before the solutions and after them

CaseInfo describe() {
  using namespace param;
  return {
      .name = "lu",
      .device = "cpu",
      .summary = "dense equations by LU on the host's cores, HPL-like, with HPL's residual",
      .example = "clusterbench lu --size 20000 --json l.json",
      .domain = "compute",
      .needs = {},
      .params = {device_param("cpu", "where to solve"),
                 integer("size")
                     .help("order n of each rank's matrix")
                     .by_default("4096")
                     .range(1, 1 << 20)
                     .list(),
                 integer("block").help("columns of a panel; absent: by the order").range(8, 4096),
                 threads_param(),
                 choice("library", {"auto", "openblas", "blis"})
                     .help("library that multiplies")
                     .by_default("auto"),
                 seed_param("of the data"),
                 integer("iterations").help("solutions").by_default("3").range(1, 1e6),
                 fault_param("changes an element of the solution, to prove that it is seen")},
      .metrics = {{"flops_per_second", "flops_per_second", Better::higher, "HPL's count over time"},
                  {"time_seconds", "seconds", Better::lower, "factoring and solving"},
                  {"share_of_gemm", "share", Better::higher,
                   "of the rate at which the same threads multiply"}},
      .checks = {"residual"},
      .fault = {.planted = said("fault.solution"),
                .checks = {"residual"},
                .brief = {{"iterations", {"1"}}, {"size", {"1000"}}},
                .point_seconds = 3},
      .fact_columns = {"library"},
  };
}

struct OpenedLibrary {
  LuLibrary calls;
  host_blas::Identity identity;
  std::string name;
};

std::variant<host_blas::Cblas, host_blas::Absent> open_blas(const Candidate& candidate) {
  return candidate.library == "blis" ? host_blas::open_blis(1)
                                     : host_blas::open_openblas(candidate.core, 1);
}

// Collective: fails on every rank if the library does not open on one. The library gets one thread
// a call: the team's threads call it at the same time.
OpenedLibrary open_for_lu(Context& context, const Candidate& candidate) {
  auto opened = open_blas(candidate);
  Said failure;
  if (const auto* absent = std::get_if<host_blas::Absent>(&opened))
    failure = said("gemm.does_not_open", context.who(), candidate_name(candidate), absent->reason);
  else if (!std::get<host_blas::Cblas>(opened).solve64)
    failure = said("lu.no_solver", context.who(), candidate_name(candidate));
  throw_where_failed(context.comm, failure);
  auto& blas = std::get<host_blas::Cblas>(opened);
  return {{blas.parts64, blas.solve64}, blas.identity, candidate.library};
}

// Libraries without a triangular solver are no candidates.
ProbeAnswer probe_solvers(const ProbeRequest& request) {
  const std::string& name = request.candidate.library;
  if (name == "openblas" || name == "blis") return probe_in_child(request);
  ProbeAnswer out;
  for (const GemmType type : request.types) out[type] = std::string("has no triangular solver");
  return out;
}

// The rate of the products of the same library, by all threads at once, each on operands of its
// own: LU consists of such products.
class ProductRate {
 public:
  ProductRate(Team& team, const LuLibrary& library) : team_(team), library_(library) {
    const auto count = static_cast<size_t>(3 * kProductEdge * kProductEdge);
    for (int i = 0; i < team.size(); ++i) operands_.push_back(make_pages<double>(count));
    team.run([&](int index) {
      double* own = operands_[static_cast<size_t>(index)].get();
      for (size_t i = 0; i < count; ++i) own[i] = static_cast<double>(i % 7) - 3;
    });
  }

  // The best of some bursts so far.
  double measure() {
    for (int i = 0; i < kProductBursts; ++i) {
      const double start = monotonic_seconds();
      team_.run([&](int index) { multiply(operands_[static_cast<size_t>(index)].get()); });
      const double seconds = monotonic_seconds() - start;
      const auto edge = static_cast<double>(kProductEdge);
      best_ = std::max(best_, 2 * edge * edge * edge * team_.size() / seconds);
    }
    return best_;
  }

 private:
  void multiply(double* own) const {
    constexpr int64_t edge = kProductEdge;
    library_.multiply({.shape = {edge, edge, edge},
                       .a = own,
                       .lda = edge,
                       .b = own + edge * edge,
                       .ldb = edge,
                       .c = own + 2 * edge * edge,
                       .ldc = edge,
                       .alpha = 1,
                       .beta = 0});
  }

  Team& team_;
  const LuLibrary& library_;
  std::vector<Pages<double>> operands_;
  double best_ = 0;
};

struct Solved {
  Samples seconds;
  double residual = 0;  // the worst; NaN if one is
};

Solved solve_again_and_again(Context& context, const Params& params, LinearSystem& system,
                             int64_t block, const OpenedLibrary& library, Team& team) {
  Solved out;
  SamplePlan plan{.warm_up_seconds = 0, .warm_up_samples = 0, .what = "LU"};
  plan.stop.min_samples = plan.stop.max_samples =
      static_cast<uint64_t>(params.integer("iterations"));
  plan.stop.target_half_width = 0;
  plan.stop.max_seconds = 1e9;
  const bool alone = context.comm.size() == 1;
  const auto moved = [&] {
    context.watchdog.progress();
    if (alone && context.cancel.cancelled()) throw Interrupted();
  };
  const SampleRun run = context.sampler.measure_self_timed(plan, [&] {
    system.fill(team);
    context.comm.barrier();
    const double start = monotonic_seconds();
    std::vector<double> x = system.solve(block, library.calls, team, moved);
    const double seconds = monotonic_seconds() - start;
    if (plants_fault(context, params)) x[x.size() / 2] += 1 + std::abs(x[0]);
    const double residual = system.residual(x, team);
    // A NaN is worse than any number, and stays.
    if (!(residual <= out.residual) && !std::isnan(out.residual)) out.residual = residual;
    return seconds;
  });
  out.seconds = run.seconds;
  return out;
}

Check residual_check_of(const Context& context, double residual) {
  Check out{.name = "residual",
            .passed = residual < kHplResidualLimit,
            .limit = kHplResidualLimit,
            .entity = 0};
  if (std::isfinite(residual)) out.value = residual;
  if (!out.passed) out.detail = said("lu.wrong", context.who(), residual);
  return out;
}

Entity entity_of(const Context& context) {
  if (context.place.local_size == 1) return {context.place.host, "host", context.place.host};
  return {context.place.host, "cpu", fmt::format("rank {}", context.comm.rank())};
}

Record measure(Context& context, const Params& params, const OpenedLibrary& library,
               const Choice& choice, const RankCores& cores, Team& team) {
  Record record{.case_name = "lu", .params = params};
  record.entity(entity_of(context));
  const int64_t order = params.integer("size");
  record.facts = {{"library", library.name}, {"threads", std::to_string(team.size())}};
  if (!library.identity.version.empty()) record.facts["library_version"] = library.identity.version;
  if (!library.identity.core.empty()) record.facts["core_type"] = library.identity.core;
  if (context.comm.is_root()) record.facts["candidates"] = choice.figures;
  record.notes.push_back(said("lu.like"));
  if (cores.oversubscribed) record.notes.push_back(said("gemm.crowded"));
  require_memory(context, lu_bytes(order));

  LinearSystem system(order, static_cast<uint64_t>(params.integer("seed")), team);
  ProductRate products(team, library.calls);
  products.measure();
  const Solved solved =
      solve_again_and_again(context, params, system, params.integer("block"), library, team);
  const double gemm = products.measure();
  record.checks.push_back(residual_check_of(context, solved.residual));
  if (!record.checks.back().passed) return record;  // wrong data yields no number

  const double operations = hpl_operations(order);
  const auto rate = [&](double seconds) { return operations / seconds; };
  record.add("flops_per_second", 0, solved.seconds.mapped(rate),
             Ceiling{gemm, said_count("lu.ceiling", team.size(), library.name)});
  record.add("share_of_gemm", 0,
             solved.seconds.mapped([&](double seconds) { return rate(seconds) / gemm; }));
  record.add("time_seconds", 0, solved.seconds);
  return record;
}

std::vector<Record> run(Context& context, const Params& params) {
  require_faulty_rank(context, params);
  const RankCores cores = cores_of_rank(context.comm, context.place);
  Team team(cpus_of_rank(context.comm, cores, params));
  const ProbeRequest request{
      .candidate = {}, .types = {GemmType::fp64}, .cpus = team.cpus(), .size = 768};
  const auto choices = choose_on_hosts(context, request, params.text("library"), probe_solvers);
  const Choice& choice = choices.at(GemmType::fp64);
  const OpenedLibrary library = open_for_lu(context, choice.candidate);
  const auto point = [&](int64_t size) {
    Params mine = params.with("size", size);
    if (!params.has("block")) mine.set("block", lu_block(size));
    return mine;
  };
  return run_points(
      context, "lu", params.integers("size"),
      [&](int64_t size) {
        return PointName{point(size), fmt::format("n = {}", size)};
      },
      [&](int64_t size) { return measure(context, point(size), library, choice, cores, team); });
}

}  // namespace

Case lu_cpu_case() { return {describe(), run}; }

}  // namespace cb
