// `infer --device gpu`: each rank generates on one GPU, with weights, cache and activations in its
// memory. The same generator as on processors; what differs is the Backend.
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "bench/cpu/memory.h"
#include "bench/harness/points.h"
#include "bench/training/cuda/cuda_attention.h"
#include "bench/training/cuda/gpu_work.h"
#include "bench/training/gpu_training.h"
#include "bench/training/infer_record.h"
#include "bench/training/meeting.h"
#include "bench/training/read_probe.h"
#include "core/units.h"
#include "kernels/infer.h"
#include "sys/gpu/cuda/products.h"

namespace cb {
namespace {

using namespace training;

constexpr const char* kGeneratingSubject = "infer --device gpu";
constexpr double kGeneratingShareOfFree = 0.97;  // as train --device gpu

// Sums that switches form have other bits each time (NCCL issue 1497), and `repeat` would accuse
// all GPUs. Before the library is opened. False: the user has chosen.
bool leave_out_nvls() {
  for (const char* name : {"NCCL_ALGO", "NCCL_NVLS_ENABLE"})
    if (std::getenv(name) != nullptr) return false;
  return ::setenv("NCCL_NVLS_ENABLE", "0", 0) == 0;
}

// Bytes that the backend allocates by itself for such a generation.
double generation_scratch(const InferOptions& o, const CudaSettings& settings, const Stage& rank) {
  Stage stage = rank;
  stage.batch = {
      .sequence = o.generation.computed(), .sequences = o.generation.sequences, .micro_batches = 1};
  const AttentionShape s = stage.attention();
  // Twice: what was recorded keeps a smaller one. Generators of several sizes begin with the
  // largest.
  const int64_t scores = attention_is_fused(s, settings)
                             ? 0
                             : 2 * CudaAttention::scores_of(s, settings.attention_block_rows);
  const int64_t parts =
      2 * kernels::infer_attention_parts(s.batch, s.heads, s.dim, o.generation.computed());
  const int64_t angles = s.sequence * s.dim, tokens = 2 * s.tokens() * (1 + s.heads);
  double out = 4.0 * static_cast<double>(scores + parts + angles + tokens) +
               static_cast<double>(cublaslt::Products::kWorkspaceBytes);
  if (!o.bf16) return out;
  const int64_t widest = std::max({o.shape.hidden, stage.feed_forward(), s.heads * s.dim});
  const int64_t matrix =
      o.shape.hidden * std::max(stage.vocabulary().count, 2 * stage.feed_forward());
  const double weights =
      inference_memory(o.shape, o.layout.tensor, {0, o.generation.prompt, o.generation.new_tokens},
                       o.element_bytes());
  const int64_t operands = std::max({2 * s.tokens() * widest, s.tokens() * s.stride(), scores}) +
                           2 * s.tokens() * widest;
  out += weights + 2.0 * static_cast<double>(operands + matrix);
  return out;
}

class GpuInference {
 public:
  GpuInference(Context& context, GpuTools& tools, const Params& params, const InferOptions& options,
               const InferPoint& point, bool without_nvls)
      : context_(context),
        tools_(tools),
        unit_(tools.session.units().at(0)),
        options_(of_batch(options, point.batch)),
        point_(point),
        without_nvls_(without_nvls),
        stage_(options_.stage(context.comm.rank())),
        settings_{.deadline_seconds = params.number("hang-after"),
                  .bf16 = options.bf16,
                  .generates = true,
                  .what = "generating tokens"},
        record_{.case_name = "infer", .params = params},
        self_(record_.entity(unit_.entity)) {}

  Record measure() {
    throw_where_failed(context_.comm, unit_.lost);  // at an earlier point
    selected(unit_);
    add_facts();
    require_memory(0);
    const std::unique_ptr<GpuTelemetry> telemetry = tools_.session.watch();
    telemetry_ = telemetry.get();
    generate();
    tools_.session.end_watch(telemetry_, record_, context_.place.host);
    tools_.session.settle(record_);
    // Each is about the data or about the one GPU of this rank.
    for (Check& check : record_.checks) check.finding = false;
    return std::move(record_);
  }

 private:
  bool exchanges() const { return options_.layout.tensor > 1; }

  // Rows that own kernels take of each of a layer's products.
  int64_t most_own_rows() const {
    const AttentionShape a = stage_.attention();
    for (const int64_t inputs : {stage_.shape.hidden, a.heads * a.dim, stage_.feed_forward()})
      if (!options_.bf16 || inputs % kernels::infer_tile_inputs != 0)
        return kernels::infer_most_rows;
    return kernels::infer_most_tile_rows;
  }

  void add_facts() {
    tools_.session.describe(record_);
    add_infer_facts(record_, options_, point_);
    record_.facts["library"] = "cuBLASLt " + tools_.blas->version();
    record_.facts["precision"] = said(options_.bf16 ? "infer.bf16" : "train.plain_fp32");
    record_.facts["products"] = said("infer.products", most_own_rows());
    if (context_.comm.size() > 1) record_.facts["rank_map"] = tools_.rank_map;
    if (exchanges())
      record_.facts["collectives"] =
          without_nvls_ ? said("infer.without_nvls", tools_.nccl->name()) : tools_.nccl->name();
  }

  // Collective. Before anything is allocated, of `held` bytes apart: both numbers are told.
  void require_memory(double held) const {
    const double needed =
        infer_memory(options_, point_) + generation_scratch(options_, settings_, stage_) - held;
    const auto free = static_cast<double>(cuda::memory_info().free_bytes);
    throw_where_failed(context_.comm,
                       needed <= kGeneratingShareOfFree * free
                           ? Said()
                           : said("infer.gpu_memory", entity_name(unit_.entity), unit_.device.uuid,
                                  format_value(needed, "bytes"), format_value(free, "bytes")));
  }

  void generate() {
    work_on_gpu(
        context_, tools_, unit_,
        {.settings = settings_,
         .layout = options_.layout,
         .exchanges = exchanges(),
         .linked =
             [this] { require_memory(static_cast<double>(cublaslt::Products::kWorkspaceBytes)); },
         .run = [this](GpuBackend& backend,
                       Fabric<float>& fabric) { generate_on(backend, fabric); }});
  }

  void generate_on(GpuBackend& backend, Fabric<float>& fabric) {
    if (exchanges()) fabric.words = connect<float>(context_.comm, options_.layout).tensor;
    context_.watchdog.note("allocating and making the weights");
    const Text text = infer_text(options_);
    std::optional<Parameters<float>> parameters;
    const bool ready = in_step(context_, options_, [&] {
      parameters.emplace(backend, stage_, options_.seed);
      backend.freeze(parameters->weights(), parameters->count());
      backend.finish();
    });
    if (!ready) return;
    if (telemetry_ != nullptr) telemetry_->open_window();
    InferRig rig{context_,
                 options_,
                 backend,
                 fabric,
                 *parameters,
                 text,
                 [&](double bytes) { return read_rate(backend, bytes); },
                 said("infer.gpu_read_ceiling"),
                 said("infer.gpu_decode_ceiling")};
    measure_infer(rig, point_, record_, self_);
    if (telemetry_ == nullptr) return;
    const GpuWindow window = telemetry_->close_window().at(0);
    if (!record_.metrics.empty()) add_window(record_, self_, window, 0);
  }

  // All GPUs read at the same time, and meet behind it also where one of them was lost.
  double read_rate(GpuBackend& backend, double bytes) const {
    double best = 0;
    context_.comm.barrier();
    const bool all = meet_behind(context_.comm, [&] {
      best = device_read_rate(backend, bytes);
      if (!options_.bf16)
        best = std::max(best, row_product_rate(backend, bytes, options_.shape.hidden));
    });
    if (!all) return 0;
    return best;
  }

  Context& context_;
  GpuTools& tools_;
  GpuUnit& unit_;
  const InferOptions options_;
  const InferPoint point_;
  const bool without_nvls_;
  const Stage stage_;
  const CudaSettings settings_;
  Record record_;
  size_t self_;
  GpuTelemetry* telemetry_ = nullptr;
};

}  // namespace

std::vector<Record> measure_gpu_inference(Context& context, const Params& params) {
  const TellsWaits told(context.comm, context.watchdog);
  const int ranks = context.comm.size();
  const InferOptions options = infer_options(params, ranks);
  if (const auto deadline = context.watchdog.total_seconds())
    require_time_for_loads(options, params.integers("batch").size(), *deadline);
  Problems problems;
  refuse_one_gpu_of_several(params, ranks, problems);
  if (!problems.empty()) throw UsageError(kGeneratingSubject, problems);
  const bool exchanges = options.layout.tensor > 1;
  const bool without_nvls = exchanges && leave_out_nvls();
  auto opened = open_gpu_tools(context, params, kGeneratingSubject, exchanges);
  if (const auto* why = std::get_if<Said>(&opened)) return skipped_record("infer", params, *why);
  auto& tools = std::get<GpuTools>(opened);
  return run_points(
      context, "infer", infer_points(params, options),
      [&](const InferPoint& point) {
        return PointName{params_of(point, options, params), text_of(point, options)};
      },
      [&](const InferPoint& point) {
        return GpuInference(context, tools, params_of(point, options, params), options, point,
                            without_nvls)
            .measure();
      });
}

}  // namespace cb
