// `cg --device gpu`: each GPU solves a cube of its own, those of a rank one after the other.
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include <fmt/format.h>

#include "bench/gpu/cuda/cg_unit.h"
#include "bench/gpu/cuda/solving_gpus.h"
#include "bench/gpu/measure.h"
#include "bench/harness/fault.h"
#include "bench/harness/points.h"

namespace cb {
namespace {

constexpr int kSetIterations = 50;            // as in HPCG
constexpr double kTrueResidualLimit = 1e-10;  // between recursion and solution
constexpr double kDepartureLimit = 10;        // in units of what rounding gives
constexpr int64_t kTestEdge = 24;             // of the cube on which convergence is checked
constexpr double kTestTolerance = 1e-9;
constexpr double kTestError = 1e-6;
constexpr int kTestMost = 60;
constexpr double kPreconditionedShare = 0.54;  // of the iterations without preconditioner

// What the sets of one GPU came to.
struct SetsOfGpu {
  double residual = 0;
  double departure = 0;  // the largest between recursion and solution; NaN if one is
  std::optional<double> first;
  bool repeats = true;  // every set ended with the same bits
};

// The cube that is measured, and the small one of the check of convergence.
struct TwoCubes {
  TwoCubes(const GpuUnit& gpu, int64_t edge, double hang_after)
      : whole(gpu, edge, hang_after), small(gpu, kTestEdge, hang_after) {}
  CgUnit whole, small;
};

struct Converged {
  int iterations = 0;
  double residual = 1, error = 0;
};

Converged converge(CgUnit& unit, bool preconditioned, const std::function<void()>& moved) {
  Converged out;
  unit.begin();
  // Written so that a NaN goes on to the end and is found there.
  while (out.iterations < kTestMost && !(out.residual <= kTestTolerance)) {
    unit.iterate(preconditioned);
    out.residual = unit.residual();
    ++out.iterations;
    moved();
  }
  for (const double x : unit.solution()) {
    const double error = std::abs(x - 1);
    if (!(error <= out.error) && !std::isnan(out.error)) out.error = error;
  }
  return out;
}

class GpuCg {
 public:
  GpuCg(Context& context, GpuSession& session, const Params& params)
      : context_(context),
        session_(session),
        params_(params),
        edge_(params.integer("size")),
        record_{.case_name = "cg", .params = params},
        gpus_(context, session, params.number("hang-after")),
        sets_(gpus_.size()),
        reads_(gpus_.size()) {}

  Record measure() {
    session_.describe(record_);
    record_.notes.push_back(said("cg.like"));
    record_.notes.push_back(said("gpu_cg.colours"));
    if (gpus_.size() > 1) record_.notes.push_back(said("gpu.in_turn", gpus_.size()));
    gpus_.make([&](const GpuUnit& gpu) {
      require_free(gpu, "gpu_cg.too_large", edge_, gpu_cg_bytes(edge_) + gpu_cg_bytes(kTestEdge));
      return std::make_unique<TwoCubes>(gpu, edge_, params_.number("hang-after"));
    });
    read_matrices();
    gpus_.each([&](size_t i) { add_symmetry(i); });
    gpus_.each([&](size_t i) { add_convergence(i); });
    gpus_.sample("CG", params_.integer("iterations"),
                 {.prepare = [](size_t) {},
                  .begin = [&](size_t i) { gpus_[i].whole.begin(); },
                  .step = [&](size_t i) { gpus_[i].whole.iterate(); },
                  .steps = kSetIterations,
                  .finish = [&](size_t i) { return gpus_[i].whole.end() / kSetIterations; },
                  .check = [&](size_t i) { look(i); }});
    read_matrices();
    gpus_.wait_for_others();
    for (size_t i = 0; i < gpus_.size(); ++i) add_unit(i);
    gpus_.settle(record_);
    return std::move(record_);
  }

 private:
  void read_matrices() {
    context_.watchdog.note("reading the matrix");
    gpus_.each([&](size_t i) { reads_[i] = std::max(reads_[i], gpus_[i].whole.read_rate()); });
  }

  void add_symmetry(size_t i) {
    const auto found = gpus_[i].whole.departures(static_cast<uint64_t>(params_.integer("seed")));
    Check out{.name = "symmetry",
              .passed = found.product < kDepartureLimit && found.cycle < kDepartureLimit,
              .limit = kDepartureLimit,
              .entity = record_.entity(gpus_.gpu(i).entity)};
    if (std::isfinite(found.product) && std::isfinite(found.cycle))
      out.value = std::max(found.product, found.cycle);
    if (!out.passed)
      out.detail = said("cg.not_symmetric", gpus_.name(i), found.product, found.cycle);
    record_.checks.push_back(out);
  }

  // On a small cube both ways solve, and the preconditioner takes 19 of 39 iterations; without what
  // its coarser cubes give it takes 22.
  void add_convergence(size_t i) {
    CgUnit& small = gpus_[i].small;
    const auto moved = [&] { context_.watchdog.alive(); };
    const Converged with = converge(small, true, moved), without = converge(small, false, moved);
    Check out{.name = "convergence",
              .value = with.iterations,
              .limit = without.iterations * kPreconditionedShare,
              .entity = record_.entity(gpus_.gpu(i).entity)};
    out.passed = with.residual <= kTestTolerance && without.residual <= kTestTolerance &&
                 with.error < kTestError && without.error < kTestError && *out.value < *out.limit;
    if (!out.passed)
      out.detail = said("cg.not_converged", gpus_.name(i), with.iterations, with.residual,
                        without.iterations, without.residual);
    record_.checks.push_back(out);
  }

  void look(size_t i) {
    SetsOfGpu& sets = sets_[i];
    CgUnit& cube = gpus_[i].whole;
    sets.residual = cube.residual();
    const double from_x = cube.true_residual(i == 0 && plants_fault(context_, params_));
    const double gap = std::abs(from_x - sets.residual);
    if (!(gap <= sets.departure) && !std::isnan(sets.departure)) sets.departure = gap;
    if (!sets.first) sets.first = sets.residual;
    sets.repeats = sets.repeats && sets.residual == *sets.first;
  }

  void add_unit(size_t i) {
    if (!gpus_.gpu(i).lost.empty()) return;  // check "gpu" says why
    const SetsOfGpu& sets = sets_[i];
    const size_t entity = record_.entity(gpus_.gpu(i).entity);
    Check out{.name = "residual",
              .passed = sets.departure < kTrueResidualLimit && sets.repeats && sets.residual < 1 &&
                        sets.first.has_value(),
              .limit = kTrueResidualLimit,
              .entity = entity};
    if (std::isfinite(sets.departure)) out.value = sets.departure;
    if (!sets.repeats)
      out.detail = said("cg.not_repeated", gpus_.name(i));
    else if (!out.passed)
      out.detail = said("cg.wrong", gpus_.name(i), sets.residual, sets.departure);
    record_.checks.push_back(out);
    const bool good = std::all_of(record_.checks.begin(), record_.checks.end(),
                                  [&](const Check& c) { return c.entity != entity || c.passed; });
    if (good) add_figures(i, entity);  // wrong data yields no number
  }

  void add_figures(size_t i, size_t entity) {
    const auto rate = [&](double amount) {
      return gpus_.seconds(i).mapped([amount](double seconds) { return amount / seconds; });
    };
    record_.add("flops_per_second", entity, rate(cg_operations(edge_)));
    record_.add("bytes_per_second", entity, rate(cg_bytes(edge_)),
                Ceiling{reads_[i], said("gpu_cg.ceiling")});
    record_.add("time_seconds", entity, gpus_.seconds(i));
    gpus_.add_telemetry(record_, i, entity, cg_operations(edge_) * kSetIterations);
  }

  Context& context_;
  GpuSession& session_;
  const Params& params_;
  int64_t edge_;
  Record record_;
  SolvingGpus<TwoCubes> gpus_;
  std::vector<SetsOfGpu> sets_;
  std::vector<double> reads_;  // bytes a second
};

}  // namespace

std::vector<Record> measure_gpu_cg(Context& context, const Params& params) {
  require_faulty_rank(context, params);
  auto opened = GpuSession::open(context);
  if (const auto* why = std::get_if<Said>(&opened)) return skipped_record("cg", params, *why);
  auto& session = std::get<GpuSession>(opened);
  return run_points(
      context, "cg", params.integers("size"),
      [&](int64_t size) {
        return PointName{params.with("size", size), fmt::format("{0}×{0}×{0}", size)};
      },
      [&](int64_t size) {
        const Params mine = params.with("size", size);
        return GpuCg(context, session, mine).measure();
      });
}

}  // namespace cb
