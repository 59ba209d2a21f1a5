// `train --device gpu`: each rank trains on one GPU, and exchanges with the others by NCCL.
#include "bench/training/gpu_training.h"

#include <algorithm>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "bench/cpu/memory.h"
#include "bench/training/cuda/gpu_work.h"
#include "bench/training/scaling_run.h"
#include "bench/training/train_record.h"
#include "core/units.h"
#include "sys/gpu/cuda/products.h"

namespace cb {
namespace {

using namespace training;

constexpr const char* kSubject = "train --device gpu";
constexpr double kShareOfFree = 0.97;  // the driver itself takes some when kernels are loaded

constexpr auto kHeldByBackend = static_cast<double>(cublaslt::Products::kWorkspaceBytes);

Fault own_fault(const Options& options, int rank) {
  Fault out = options.fault;
  if (out.rank != rank) out.kind = Fault::Kind::none;
  return out;
}

// A product of few rows reads the head's matrix from memory as long as it computes.
Stage on_gpu(Stage stage) {
  stage.most_logits = int64_t{1} << 29;
  return stage;
}

class GpuTraining {
 public:
  GpuTraining(const TrainingGroup& group, GpuTools& tools)
      : context_(group.context),
        tools_(tools),
        session_(tools.session),
        unit_(session_.units().at(0)),
        library_(*tools.blas),
        options_(group.options),
        stage_(on_gpu(options_.stage(context_.comm.rank()))),
        settings_{.deadline_seconds = group.params.number("hang-after"),
                  .bf16 = options_.dtype != "fp32",
                  .fp8 = options_.dtype == "fp8"},
        exchanges_(tools.nccl.has_value() && context_.comm.size() > 1),
        record_{.case_name = "train", .params = group.params},
        self_(record_.entity(unit_.entity)),
        whole_(group.of ? record_.entity(*group.of) : self_) {}

  Record measure() {
    require_unit();
    selected(unit_);
    require_fp8();
    add_facts();
    require_memory(0);
    const std::unique_ptr<GpuTelemetry> telemetry = session_.watch();
    telemetry_ = telemetry.get();
    train();
    session_.end_watch(telemetry_, record_, context_.place.host);
    settle();
    return std::move(record_);
  }

 private:
  // A check of a training step is about the data, and about the one GPU of this rank. A slow GPU is
  // found, and its numbers stand.
  void settle() {
    const auto slow = std::stable_partition(record_.checks.begin(), record_.checks.end(),
                                            [](const Check& c) { return c.name != "straggler"; });
    std::vector<Check> stragglers(slow, record_.checks.end());
    record_.checks.erase(slow, record_.checks.end());
    session_.settle(record_);
    for (Check& check : record_.checks) check.finding = false;
    for (Check& check : stragglers) record_.checks.push_back(std::move(check));
  }

  // Collective. What was lost in an earlier level trains in none.
  void require_unit() const { throw_where_failed(context_.comm, unit_.lost); }

  void add_facts() {
    session_.describe(record_);
    add_training_facts(record_, options_);
    record_.facts["attention"] =
        attention_is_fused(stage_.attention(), settings_)
            ? said("train.attention_fused")
            : said("train.attention_batched", settings_.attention_block_rows);
    record_.facts["library"] = "cuBLASLt " + library_.version();
    record_.facts["precision"] = said(settings_.fp8    ? "train.fp8_products"
                                      : settings_.bf16 ? "train.bf16_products"
                                                       : "train.plain_fp32");
    if (!exchanges_) return;
    record_.facts["collectives"] = tools_.nccl->name();
    record_.facts["rank_map"] = tools_.rank_map;
    note_shared_over_hosts(record_, context_, options_.layout);
  }

  // Collective: a GPU without units for the products ends the job on all ranks.
  void require_fp8() const {
    constexpr int kFirstWithFp8 = 89;
    const bool can = !settings_.fp8 || unit_.device.compute_capability >= kFirstWithFp8;
    throw_where_failed(context_.comm, can ? Said()
                                          : said("train.no_fp8", entity_name(unit_.entity),
                                                 unit_.device.uuid, unit_.device.name));
  }

  // Collective. Before anything is allocated, of `held` bytes apart: both numbers are told.
  void require_memory(double held) const {
    const Memory memory =
        memory_of_rank(options_.shape, options_.layout, options_.batch, 4, options_.recompute);
    const double needed =
        memory.total() + (settings_.bf16 ? memory.weights / 2 : 0) +
        4.0 * static_cast<double>(scratch_elements(stage_) + probe_elements(stage_)) +
        cuda_scratch_bytes(stage_, settings_) +
        GpuLinks::buffer_bytes(stage_.layout, stage_.own_tokens() * stage_.shape.hidden) - held;
    const auto free = static_cast<double>(cuda::memory_info().free_bytes);
    throw_where_failed(context_.comm,
                       needed <= kShareOfFree * free
                           ? Said()
                           : said("train.gpu_memory", entity_name(unit_.entity), unit_.device.uuid,
                                  format_value(needed, "bytes"), format_value(free, "bytes")));
  }

  void train() {
    work_on_gpu(
        context_, tools_, unit_,
        {.settings = settings_,
         .layout = options_.layout,
         .exchanges = exchanges_,
         .linked = [this] { require_memory(kHeldByBackend); },
         .run = [this](GpuBackend& backend, Fabric<float>& fabric) { train_on(backend, fabric); }});
  }

  void train_on(GpuBackend& backend, Fabric<float>& fabric) {
    context_.watchdog.note("allocating and making the weights");
    const Text text(options_.text, options_.recipe.seed);
    Trainer<float> trainer(context_.comm, fabric, backend, stage_, text, options_.recipe,
                           own_fault(options_, context_.comm.rank()));
    Session session(context_, options_, trainer, backend);
    if (telemetry_ != nullptr) telemetry_->open_window();
    const Trained measured = session.train();
    if (telemetry_ != nullptr) window_ = telemetry_->close_window().at(0);
    add_course(record_, measured);
    session.add_checks(record_, self_, whole_, measured);
    if (measured.stopped) return;  // wrong data yields no number
    context_.watchdog.note("measuring the parts alone");
    const Watchdog::Bounded probing(context_.watchdog,
                                    probing_patience(context_.comm.max(measured.longest_step())));
    const auto moved = [this] { context_.watchdog.alive(); };
    const Prediction parts =
        predict(context_.comm, backend, fabric, stage_, measured.ledger, trainer, moved);
    add_rank_figures(record_, self_, options_.layout, measured, parts);
    record_.add("share_of_gemm", self_,
                share_of(best_product_rate(backend, measured.ledger, moved), options_, measured));
    add_shares(measured);
    const double predicted = context_.comm.max(parts.step());
    if (context_.comm.is_root()) add_job_figures(record_, whole_, options_, measured, predicted);
  }

  std::string peak_type() const { return settings_.fp8 ? "fp8_e4m3" : options_.dtype; }

  // Of the peak of the products' type: as the maker states it, and at the clock of the steps.
  void add_shares(const Trained& measured) {
    const auto spec = peak_of(unit_.sku, peak_type());
    if (spec) record_.add("share_of_spec", self_, share_of(*spec, options_, measured));
    if (!window_) return;
    if (!window_->clock_hertz.empty()) {
      const double clock = window_->clock_hertz.summary().median;
      if (const auto peak = peak_at_clock(unit_.sku, peak_type(), clock))
        add_shares_of_peak(record_, self_, *peak, options_, measured);
    }
    if (const auto watts = window_->mean_watts())
      record_.add("joules_per_token", self_, joules_per_token(*watts, options_, measured));
    add_window(record_, self_, *window_, 0);
  }

  Context& context_;
  GpuTools& tools_;
  GpuSession& session_;
  GpuUnit& unit_;
  const cublaslt::Library& library_;
  const Options& options_;
  const Stage stage_;
  const CudaSettings settings_;
  const bool exchanges_;  // with the GPUs of other ranks
  Record record_;
  size_t self_, whole_;
  GpuTelemetry* telemetry_ = nullptr;
  std::optional<GpuWindow> window_;
};

// What does not fit the number of ranks.
void refuse_alone_or_together(const Params& params, const Options& options, int ranks) {
  Problems problems;
  if (options.layout.zero1 && options.layout.data == 1)
    problems.add("--shard", "there are no replicas to divide the optimizer's state with");
  refuse_one_gpu_of_several(params, ranks, problems);
  if (!problems.empty()) throw UsageError(kSubject, problems);
}

}  // namespace

std::vector<Record> measure_gpu_training(Context& context, const Params& params) {
  const TellsWaits told(context.comm, context.watchdog);
  const int ranks = context.comm.size();
  const Options options = options_of(params, ranks);
  refuse_alone_or_together(params, options, ranks);
  const TrainingJob job{params, options, scaling_points(params, options, context.place)};
  auto opened = open_gpu_tools(context, params, kSubject, context.comm.size() > 1);
  if (const auto* why = std::get_if<Said>(&opened)) return skipped_record("train", params, *why);
  auto& tools = std::get<GpuTools>(opened);
  return train_groups(context, job, [&](const TrainingGroup& group) {
    return GpuTraining(group, tools).measure();
  });
}

}  // namespace cb
