// `lu --device gpu`: each GPU solves a system of its own, those of a rank one after the other.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "bench/gpu/cuda/lu_unit.h"
#include "bench/gpu/cuda/solving_gpus.h"
#include "bench/gpu/lu_plan.h"
#include "bench/gpu/measure.h"
#include "bench/harness/fault.h"
#include "bench/harness/points.h"
#include "model/hpl.h"

namespace cb {
namespace {

class GpuLu {
 public:
  GpuLu(Context& context, GpuSession& session, const cublaslt::Library& library,
        const Params& params)
      : context_(context),
        session_(session),
        library_(library),
        params_(params),
        order_(params.integer("size")),
        block_(params.integer("block")),
        record_{.case_name = "lu", .params = params},
        gpus_(context, session, params.number("hang-after")),
        residuals_(gpus_.size()),
        first_(gpus_.size()),
        repeats_(gpus_.size(), true),
        products_(gpus_.size()) {}

  Record measure() {
    session_.describe(record_);
    record_.facts["library"] = "cuBLASLt " + library_.version();
    record_.facts["emulation"] = said("gpu.off");
    record_.notes.push_back(said("lu.like"));
    if (gpus_.size() > 1) record_.notes.push_back(said("gpu.in_turn", gpus_.size()));
    make_units();
    measure_products();
    gpus_.sample("LU", params_.integer("iterations"),
                 {.prepare = [&](size_t i) { gpus_[i].fill(); },
                  .begin = [&](size_t i) { gpus_[i].start(); },
                  .step = [&](size_t i) { gpus_[i].step(); },
                  .steps = (order_ + block_ - 1) / block_,
                  .finish = [&](size_t i) { return gpus_[i].finish(); },
                  .check = [&](size_t i) { check(i); }});
    measure_products();
    gpus_.wait_for_others();
    if (const Said why = agreed(context_, gpus_.refused()); !why.empty()) return refused(why);
    for (size_t i = 0; i < gpus_.size(); ++i) add_unit(i);
    gpus_.settle(record_);
    return std::move(record_);
  }

 private:
  // GPUs that were lost before are named nevertheless.
  Record refused(const Said& why) const {
    Record out = skipped_record("lu", params_, why)[0];
    session_.settle(out);
    return out;
  }

  void make_units() {
    gpus_.make([&](const GpuUnit& gpu) {
      require_free(gpu, "gpu_lu.too_large", order_, gpu_lu_bytes(order_, block_));
      return std::make_unique<LuUnit>(library_, gpu, order_, block_,
                                      static_cast<uint64_t>(params_.integer("seed")),
                                      params_.number("hang-after"));
    });
  }

  // The best rate of the update's products so far, before the solutions and after them.
  void measure_products() {
    context_.watchdog.note("timing products");
    gpus_.each([&](size_t i) {
      gpus_[i].fill();
      products_[i] = std::max(products_[i], gpus_[i].product_rate());
      if (i > 0 || products_[0] <= 0) return;
      if (const std::string with = gpus_[0].units(); !with.empty()) record_.facts["units"] = with;
    });
  }

  void check(size_t i) {
    const std::vector<double> x = gpus_[i].solution();
    if (first_[i].empty()) first_[i] = x;
    // By the bits: a NaN equals itself.
    repeats_[i] =
        repeats_[i] && std::memcmp(x.data(), first_[i].data(), x.size() * sizeof x[0]) == 0;
    const double residual = gpus_[i].residual(i == 0 && plants_fault(context_, params_));
    // A NaN is worse than any number, and stays.
    if (!(residual <= residuals_[i]) && !std::isnan(residuals_[i])) residuals_[i] = residual;
  }

  void add_unit(size_t i) {
    if (!gpus_.gpu(i).lost.empty()) return;  // check "gpu" says why
    const size_t entity = record_.entity(gpus_.gpu(i).entity);
    Check residual{
        .name = "residual",
        .passed = residuals_[i] < kHplResidualLimit && repeats_[i] && !gpus_.seconds(i).empty(),
        .limit = kHplResidualLimit,
        .entity = entity};
    if (std::isfinite(residuals_[i])) residual.value = residuals_[i];
    if (!residual.passed)
      residual.detail = repeats_[i] ? said("lu.wrong", gpus_.name(i), residuals_[i])
                                    : said("lu.not_repeated", gpus_.name(i));
    record_.checks.push_back(residual);
    if (residual.passed) add_figures(i, entity);  // wrong data yields no number
  }

  void add_figures(size_t i, size_t entity) {
    const double operations = hpl_operations(order_);
    const Samples rates = gpus_.seconds(i).mapped([&](double s) { return operations / s; });
    const auto share = [&](double of) {
      return rates.mapped([of](double rate) { return rate / of; });
    };
    std::optional<Ceiling> ceiling;
    if (products_[i] > 0)
      ceiling = Ceiling{products_[i], said("gpu_lu.ceiling", order_ - block_, block_)};
    record_.add("flops_per_second", entity, rates, std::move(ceiling));
    if (products_[i] > 0) record_.add("share_of_gemm", entity, share(products_[i]));
    if (const auto spec = peak_of(gpus_.gpu(i).sku, "fp64"))
      record_.add("share_of_spec", entity, share(*spec));
    record_.add("time_seconds", entity, gpus_.seconds(i));
    gpus_.add_telemetry(record_, i, entity, operations);
  }

  Context& context_;
  GpuSession& session_;
  const cublaslt::Library& library_;
  const Params& params_;
  int64_t order_, block_;
  Record record_;
  SolvingGpus<LuUnit> gpus_;
  std::vector<double> residuals_;           // of each GPU: the worst; NaN if one is
  std::vector<std::vector<double>> first_;  // solution
  std::vector<bool> repeats_;               // every solution had the same bits
  std::vector<double> products_;            // FLOP/s
};

// Collective. The reason if fp64 says nothing about some GPU of the run.
Said all_have_fp64(Context& context, const GpuSession& session) {
  Said why;
  for (const GpuUnit& unit : session.units()) {
    const Said weak = weak_fp64(unit.sku, unit.device.name, unit.device.compute_capability);
    if (!weak.empty()) why = weak;
  }
  return agreed(context, why);
}

// Collective. The largest order that fits into every GPU of every rank; the smallest, which says
// why, where none of them answers.
int64_t order_that_fits(Context& context, GpuSession& session, int64_t block) {
  constexpr double kNone = std::numeric_limits<int32_t>::max();
  double order = kNone;
  for (GpuUnit& unit : session.units()) {
    guarded(unit, [&] {
      selected(unit);
      const int64_t free = cuda::memory_info().free_bytes;
      order = std::min(order, static_cast<double>(gpu_lu_order(free, block)));
    });
  }
  const double least = -context.comm.max(-order);
  return least < kNone ? static_cast<int64_t>(least) : gpu_lu_order(0, block);
}

}  // namespace

std::vector<Record> measure_gpu_lu(Context& context, const Params& params) {
  require_faulty_rank(context, params);
  auto opened = GpuSession::open(context);
  if (const auto* why = std::get_if<Said>(&opened)) return skipped_record("lu", params, *why);
  auto& session = std::get<GpuSession>(opened);
  const auto library = cublaslt::open();
  const auto* absent = std::get_if<cublaslt::Absent>(&library);
  if (context.comm.any(absent != nullptr))
    return skipped_record("lu", params,
                          absent != nullptr ? absent->reason : said("gpu.blas_absent_elsewhere"));
  if (const Said why = all_have_fp64(context, session); !why.empty())
    return skipped_record("lu", params, why);
  const int64_t block = params.has("block") ? params.integer("block") : 0;
  std::vector<int64_t> orders;
  if (params.has("size"))
    orders = params.integers("size");
  else
    orders = {order_that_fits(context, session, block)};
  const auto point = [&](int64_t order) {
    Params mine = params.with("size", order);
    if (block == 0) mine.set("block", gpu_lu_block(order));
    return mine;
  };
  return run_points(
      context, "lu", orders,
      [&](int64_t order) {
        return PointName{point(order), fmt::format("n = {}", order)};
      },
      [&](int64_t order) {
        const Params mine = point(order);
        return GpuLu(context, session, std::get<cublaslt::Library>(library), mine).measure();
      });
}

}  // namespace cb
