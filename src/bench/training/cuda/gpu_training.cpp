// `train --device gpu`: one rank trains on one GPU.
#include "bench/training/gpu_training.h"

#include <algorithm>

#include <fmt/format.h>

#include "bench/gpu/cuda/session.h"
#include "bench/harness/points.h"
#include "bench/training/cuda/cuda_backend.h"
#include "bench/training/train_record.h"
#include "core/units.h"

namespace cb {
namespace {

using namespace training;

constexpr const char* kSubject = "train --device gpu";
constexpr double kShareOfFree = 0.97;  // the driver itself takes some when kernels are loaded

// Keeps the one GPU that trains, so that the others are neither watched nor blamed.
void keep_chosen(GpuSession& session, const Params& params) {
  const std::string wanted = std::to_string(params.integer("gpu"));
  auto& units = session.units();
  std::string there;
  for (const GpuUnit& unit : units) there += (there.empty() ? "" : ", ") + unit.entity.id;
  const auto chosen =
      std::ranges::find_if(units, [&](const GpuUnit& unit) { return unit.entity.id == wanted; });
  if (chosen == units.end()) {
    Problems problems;
    problems.add("--gpu", fmt::format("no GPU {} here: there is {}", wanted, there));
    throw UsageError(kSubject, problems);
  }
  GpuUnit one = std::move(*chosen);
  units.clear();
  units.push_back(std::move(one));
}

class GpuTraining {
 public:
  GpuTraining(Context& context, GpuSession& session, const cublaslt::Library& library,
              const Params& params, const Options& options)
      : context_(context),
        session_(session),
        unit_(session.units().at(0)),
        library_(library),
        options_(options),
        stage_(options.stage(0)),
        settings_{.deadline_seconds = params.number("hang-after"), .bf16 = options.dtype == "bf16"},
        record_{.case_name = "train", .params = params},
        self_(record_.entity(unit_.entity)) {}

  Record measure() {
    selected(unit_);
    add_facts();
    require_memory();
    const std::unique_ptr<GpuTelemetry> telemetry = session_.watch();
    telemetry_ = telemetry.get();
    train();
    if (telemetry) telemetry->stop(record_, context_.place.host);
    session_.settle(record_);
    // A check of a training step is about the data, and about the one GPU that there is.
    for (Check& check : record_.checks) check.finding = check.name == "straggler";
    return std::move(record_);
  }

 private:
  void add_facts() {
    session_.describe(record_);
    add_training_facts(record_, options_);
    record_.facts["attention"] = said("train.attention_batched", settings_.attention_block_rows);
    record_.facts["library"] = "cuBLASLt " + library_.version();
    record_.facts["precision"] = said(settings_.bf16 ? "train.bf16_products" : "train.plain_fp32");
  }

  // Before anything is allocated: both numbers are told.
  void require_memory() const {
    const double needed =
        memory_of_rank(options_.shape, options_.layout, options_.batch, 4, options_.recompute)
            .total() +
        4.0 * static_cast<double>(scratch_elements(stage_) + probe_elements(stage_)) +
        cuda_scratch_bytes(stage_, settings_);
    const auto free = static_cast<double>(cuda::memory_info().free_bytes);
    if (needed <= kShareOfFree * free) return;
    throw Error(said("train.gpu_memory", entity_name(unit_.entity), unit_.device.uuid,
                     format_value(needed, "bytes"), format_value(free, "bytes")));
  }

  // What fails on the device becomes its failed check; the rest is an error of the point.
  void train() {
    context_.watchdog.note("allocating and making the weights");
    std::unique_ptr<GpuBackend> backend;
    try {
      backend = cuda_backend(library_, settings_);
      train_on(*backend);
    } catch (const cuda::OutOfMemory& e) {
      throw Error(said("train.gpu_full", entity_name(unit_.entity), unit_.device.uuid, e.said()));
    } catch (const cublaslt::Unsupported& e) {
      throw Error(said("gpu.unsupported", entity_name(unit_.entity), library_.version(), e.said()));
    } catch (const Error& e) {
      if (backend && !backend->lost()) throw;
      lose(e);
    }
  }

  void lose(const Error& e) {
    cuda::forget_error();
    unit_.hangs = e.code() == ExitCode::deadline;
    unit_.lost = said("gpu.lost", entity_name(unit_.entity), unit_.device.uuid, e.said());
  }

  void train_on(GpuBackend& backend) {
    auto fabric = connect<float>(context_.comm, options_.layout, [] {});
    const Text text(options_.text, options_.recipe.seed);
    Trainer<float> trainer(context_.comm, fabric, backend, stage_, text, options_.recipe,
                           options_.fault);
    Session session(context_, options_, trainer, backend);
    if (telemetry_ != nullptr) telemetry_->open_window();
    const Trained measured = session.train();
    if (telemetry_ != nullptr) window_ = telemetry_->close_window().at(0);
    const size_t whole = record_.entity({"", "cluster", ""});
    add_course(record_, measured);
    session.add_checks(record_, self_, whole, measured);
    if (measured.stopped) return;  // wrong data yields no number
    context_.watchdog.note("measuring the parts alone");
    const Prediction parts =
        predict(context_.comm, backend, fabric, stage_, measured.ledger, trainer);
    add_rank_figures(record_, self_, measured, parts);
    record_.add("share_of_gemm", self_,
                share_of(best_product_rate(backend, measured.ledger), options_, measured));
    add_shares(measured);
    add_job_figures(record_, whole, options_, measured, parts.step());
  }

  // Of the peak of the products' type: as the maker states it, and at the clock of the steps.
  void add_shares(const Trained& measured) {
    const auto spec = peak_of(unit_.sku, options_.dtype);
    if (spec) record_.add("share_of_spec", self_, share_of(*spec, options_, measured));
    if (!window_) return;
    if (!window_->clock_hertz.empty()) {
      const double clock = window_->clock_hertz.summary().median;
      if (const auto peak = peak_at_clock(unit_.sku, options_.dtype, clock))
        record_.add("share_of_peak", self_, share_of(*peak, options_, measured));
    }
    add_window(record_, self_, *window_, 0);
  }

  Context& context_;
  GpuSession& session_;
  GpuUnit& unit_;
  const cublaslt::Library& library_;
  const Options& options_;
  const Stage stage_;
  const CudaSettings settings_;
  Record record_;
  size_t self_;
  GpuTelemetry* telemetry_ = nullptr;
  std::optional<GpuWindow> window_;
};

}  // namespace

std::vector<Record> measure_gpu_training(Context& context, const Params& params) {
  if (context.comm.size() > 1) {
    Problems problems;
    problems.add("ranks", fmt::format("{}: GPUs do not exchange in a training step yet; start one "
                                      "job of one rank for each GPU, with --gpu",
                                      context.comm.size()));
    throw UsageError(kSubject, problems);
  }
  const Options options = options_of(params, 1);
  auto opened = GpuSession::open(context);
  if (const auto* why = std::get_if<Said>(&opened)) return skipped_record("train", params, *why);
  auto& session = std::get<GpuSession>(opened);
  keep_chosen(session, params);
  const auto library = cublaslt::open();
  if (const auto* absent = std::get_if<cublaslt::Absent>(&library))
    return skipped_record("train", params, absent->reason);
  return run_points(
      context, "train", std::vector<Params>{params},
      [&](const Params& p) {
        return PointName{p, fmt::format("{} {} steps", options.shape.name, options.steps)};
      },
      [&](const Params& p) {
        return GpuTraining(context, session, std::get<cublaslt::Library>(library), p, options)
            .measure();
      });
}

}  // namespace cb
