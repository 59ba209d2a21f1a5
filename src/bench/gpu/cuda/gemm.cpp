// `gemm --device gpu`: choose the algorithm, warm up to a steady clock, sample, check.
#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/gpu/cuda/gemm_unit.h"
#include "bench/gpu/gpu_plan.h"
#include "bench/gpu/measure.h"
#include "bench/harness/fault.h"
#include "bench/harness/points.h"
#include "sys/gpu/nvtx.h"

namespace cb {
namespace {

double operations(const GemmPoint& p) {
  return 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
}

SamplePlan plan_of(const Params& params, const std::string& what) {
  SamplePlan plan{.warm_up_samples = 3, .warm_up_at_least = params.number("warm-up"), .what = what};
  if (plan.warm_up_at_least <= 0) plan.warm_up_samples = 0;
  plan.stop.max_seconds = params.number("duration");
  if (params.has("iterations")) {
    plan.stop.min_samples = plan.stop.max_samples =
        static_cast<uint64_t>(params.integer("iterations"));
    plan.stop.target_half_width = 0;
    plan.stop.max_seconds = 1e9;
  }
  return plan;
}

class Gemm {
 public:
  Gemm(Context& context, GpuSession& session, const cublaslt::Library& library,
       const GemmPoint& point)
      : context_(context), session_(session), library_(library), point_(point) {}

  ~Gemm() { drop_units(); }
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;

  Record measure() {
    Record record{.case_name = "gemm", .params = point_.params};
    session_.describe(record);
    record.facts["library"] = "cuBLASLt " + library_.version();
    record.facts["emulation"] = said("gpu.off");
    if (point_.m == 0) {
      if (const Said why = search(record); !why.empty()) return skipped(why);
    }
    add_shape(record);
    if (const Said why = make_units(); !why.empty()) return skipped(why);
    if (const Said why = choose(record); !why.empty()) return skipped(why);
    if (point_.params.flag("one-at-a-time"))
      one_at_a_time(record);
    else
      together(record);
    return record;
  }

 private:
  void add_shape(Record& record) const {
    for (const auto& [key, value] : {std::pair{"m", point_.m}, {"n", point_.n}, {"k", point_.k}})
      record.facts[key] = std::to_string(value);
  }

  Record skipped(const Said& why) const { return skipped_record("gemm", point_.params, why)[0]; }

  // Collective. Makes the buffers on every GPU. Returns the reason if the library cannot multiply
  // this on some GPU; else empty. Throws Error on all ranks if the memory of one is too small. A
  // GPU that fails is left out.
  Said make_units() {
    drop_units();
    units_.resize(session_.units().size());
    const auto seed = static_cast<uint64_t>(point_.params.integer("seed"));
    Said too_much, unsupported;
    for (size_t i = 0; i < units_.size(); ++i) {
      GpuUnit& unit = session_.units()[i];
      try {
        guarded(unit,
                [&] { units_[i] = std::make_unique<GemmUnit>(library_, unit, point_, seed); });
      } catch (const cublaslt::Unsupported& e) {
        unsupported =
            said("gpu.unsupported", entity_name(unit.entity), library_.version(), e.said());
      } catch (const std::exception& e) {
        too_much = said("said.of", context_.who(), said_by(e));
      }
      context_.watchdog.progress();
    }
    if (const Said why = agreed(context_, too_much); !why.empty()) throw Error(why);
    return agreed(context_, unsupported);
  }

  // The fastest proposal on this GPU; nothing if the library cannot multiply this.
  std::optional<cublaslt::Algorithm> fastest_on(GemmUnit& unit, double& seconds) {
    const auto proposals = unit.proposals(static_cast<int>(point_.params.integer("algorithms")));
    std::vector<std::vector<double>> times;
    for (const cublaslt::Algorithm& a : proposals) {
      times.push_back(unit.try_out(a));
      context_.watchdog.progress();
    }
    const int best = fastest(times);
    if (best < 0) return std::nullopt;
    seconds = median(times[static_cast<size_t>(best)]);
    return proposals[static_cast<size_t>(best)];
  }

  // Does the work and returns the reason if the library refuses it on that GPU; else empty.
  Said tried_on(size_t i, const std::function<void()>& work) {
    GpuUnit& unit = session_.units()[i];
    try {
      guarded(unit, work);
      return {};
    } catch (const cublaslt::Unsupported& e) {
      return said("gpu.unsupported", entity_name(unit.entity), library_.version(), e.said());
    }
  }

  // Collective. Rank 0's first GPU chooses for all GPUs of its kind; GPUs of other kinds choose for
  // themselves. Returns the reason, the same on all ranks, if the product is impossible; else
  // empty.
  Said choose(Record& record) {
    context_.watchdog.note("timing algorithms");
    const nvtx::Range range("timing algorithms");
    std::string chosen, kind;
    Said problem;
    double seconds = 0;
    if (context_.comm.is_root() && !units_.empty()) {
      kind = kind_of(session_.units()[0], library_);
      problem = tried_on(0, [&] {
        if (const auto best = fastest_on(*units_[0], seconds)) chosen = text_of(*best);
      });
    }
    chosen = context_.comm.broadcast_text(chosen);
    kind = context_.comm.broadcast_text(kind);
    for (size_t i = 0; i < units_.size(); ++i) {
      GpuUnit& unit = session_.units()[i];
      std::optional<cublaslt::Algorithm> algorithm;
      if (kind_of(unit, library_) == kind) algorithm = parse_algorithm(chosen);
      const bool tried = context_.comm.is_root() && i == 0;
      const Said refused = tried_on(i, [&] {
        if (!algorithm && !tried) algorithm = fastest_on(*units_[i], seconds);
        if (algorithm) units_[i]->use(*algorithm);
      });
      if (!refused.empty()) problem = refused;
      if (!algorithm && unit.lost.empty() && problem.empty())
        problem = said("gpu.no_algorithm", entity_name(unit.entity), library_.version(),
                       point_.dtype, point_.m, point_.n, point_.k);
    }
    if (context_.comm.is_root()) {
      if (!chosen.empty()) record.facts["algorithm"] = chosen;
      if (!units_.empty() && units_[0]) {
        record.facts["buffer_sets"] = std::to_string(units_[0]->sets());
        if (const std::string with = units_[0]->units(); !with.empty())
          record.facts["units"] = with;
      }
    }
    return agreed(context_, problem);
  }

  // Collective. Sets the shape with the highest rate on rank 0's first GPU. Returns the reason if
  // there is none; else empty.
  Said search(Record& record) {
    context_.watchdog.note("searching the fastest shape");
    std::string best;
    if (context_.comm.is_root() && !session_.units().empty()) {
      const GemmPoint wanted = point_;
      double top = 0;
      int timed = 0;
      const auto shapes = search_shapes();
      for (size_t i = 0; i < shapes.size(); ++i) {
        if (context_.cancel.cancelled()) break;
        point_.m = shapes[i].m;
        point_.n = shapes[i].n;
        point_.k = shapes[i].k;
        context_.progress.update(
            static_cast<double>(i) / static_cast<double>(shapes.size()),
            fmt::format("search {} {}×{}×{}", point_.dtype, point_.m, point_.n, point_.k));
        const double rate = rate_of_shape();
        timed += rate > 0 ? 1 : 0;
        if (rate <= top) continue;
        top = rate;
        best = fmt::format("{} {} {}", point_.m, point_.n, point_.k);
      }
      point_ = wanted;
      record.facts["searched_shapes"] = std::to_string(timed);
    }
    if (context_.comm.any(context_.cancel.cancelled())) throw Interrupted();
    const bool none = context_.comm.is_root() && !session_.units().empty() && best.empty();
    if (const Said lost = agreed(context_, none ? session_.units()[0].lost : Said()); !lost.empty())
      return lost;
    std::istringstream words(context_.comm.broadcast_text(best));
    if (words >> point_.m >> point_.n >> point_.k) return {};
    return said("gpu.no_shape", library_.version(), point_.dtype);
  }

  // Measures on this rank's first GPU; 0 if the library cannot multiply the shape or it does not
  // fit.
  double rate_of_shape() {
    GpuUnit& first = session_.units()[0];
    std::unique_ptr<GemmUnit> unit;
    double rate = 0;
    try {
      guarded(first, [&] {
        unit = std::make_unique<GemmUnit>(library_, first, point_,
                                          static_cast<uint64_t>(point_.params.integer("seed")));
        double seconds = 0;
        if (fastest_on(*unit, seconds)) rate = operations(point_) / seconds;
      });
    } catch (const cublaslt::Unsupported&) {
      rate = 0;
    } catch (const cuda::OutOfMemory&) {
      rate = 0;
    }
    dispose(first, unit);
    return rate;
  }

  // Queues a sample of `count` products on each of the GPUs `which`.
  void start(const std::vector<size_t>& which, int64_t count) {
    for (const size_t i : which) guarded(session_.units()[i], [&] { units_[i]->start(count); });
  }

  // Waits for the oldest sample of each GPU. Returns the slowest GPU's seconds for one product.
  double read(const std::vector<size_t>& which, Spans* spans) {
    double slowest = 1e-9;  // result of a rank without a GPU
    for (const size_t i : which) {
      GpuUnit& gpu = session_.units()[i];
      guarded(gpu, [&] {
        const double one = units_[i]->seconds();
        if (spans != nullptr) spans->add(gpu.entity.id, one);
        slowest = std::max(slowest, one);
      });
    }
    return slowest;
  }

  // The number of products that fill kGpuSampleSeconds on this rank's slowest GPU. It times two
  // products and takes the second: the first one includes the loading of the kernel. A large number
  // of small products becomes a graph.
  int64_t batch_of(const std::vector<size_t>& which) {
    double one = 0;
    for (int i = 0; i < 2; ++i) {
      start(which, 1);
      one = read(which, nullptr);
    }
    const int64_t count = repetitions(one, kGpuSampleSeconds, kMaxRecorded);
    recorded_ = false;
    bool worth = count > kMaxProducts;
    for (const size_t i : which) {
      if (worth)
        guarded(session_.units()[i], [&] { worth = recorded_ = units_[i]->record(count); });
    }
    return recorded_ ? count : std::min(count, kMaxProducts);
  }

  // Samples the GPUs `which` all at once; the sampler sees the slowest. The next sample is queued
  // before the last one is waited for. A GPU that fails is left out from then on, and no rank waits
  // for it.
  void sample(const std::vector<size_t>& which, std::vector<Samples>& seconds, bool agree) {
    const int64_t count = batch_of(which);
    SamplePlan plan = plan_of(point_.params, point_.dtype);
    plan.together = agree;
    if (agree) plan.decider = first_with_gpu(context_, session_);
    for (const size_t i : which) plan.spans.push_back(session_.units()[i].entity.id);
    // The window opens once the clock has settled: earlier readings tell nothing about the samples.
    plan.begin = [this] {
      if (telemetry_) telemetry_->open_window();
    };
    if (agree) context_.comm.barrier();
    start(which, count);
    const SampleRun run = context_.sampler.measure_spans(plan, [&](Spans& spans) {
      if (agree) context_.comm.barrier();
      start(which, count);
      return read(which, &spans);
    });
    if (telemetry_) windows_ = telemetry_->close_window();
    read(which, nullptr);
    batch_ = count;
    for (const size_t i : which) {
      for (const double s : run.spans.of(session_.units()[i].entity.id)) seconds[i].add(s);
    }
  }

  void together(Record& record) {
    std::vector<size_t> all(units_.size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = i;
    std::vector<Samples> seconds(units_.size());
    telemetry_ = session_.watch();
    sample(all, seconds, true);
    for (const size_t i : all) add_unit(record, i, seconds[i]);
    finish(record);
  }

  // Collective. Ranks take turns, and so do a rank's GPUs: one GPU works while all others idle. All
  // ranks meet after each GPU, so that none goes long without a sign of life.
  void one_at_a_time(Record& record) {
    telemetry_ = session_.watch();
    std::vector<Samples> seconds(units_.size());
    const auto most = static_cast<size_t>(context_.comm.max(static_cast<double>(units_.size())));
    for (int turn = 0; turn < context_.comm.size(); ++turn) {
      for (size_t i = 0; i < most; ++i) {
        if (turn == context_.comm.rank() && i < units_.size()) {
          sample({i}, seconds, false);
          add_unit(record, i, seconds[i]);
        }
        context_.watchdog.note("waiting for another rank's turn");
        if (context_.comm.any(context_.cancel.cancelled())) throw Interrupted();
        context_.watchdog.progress();
      }
    }
    finish(record);
  }

  void finish(Record& record) {
    if (recorded_) record.facts["launched_as"] = said("gpu.as_graph", batch_);
    session_.end_watch(telemetry_.get(), record, context_.place.host);
    telemetry_.reset();
    session_.settle(record);
    drop_units();
  }

  void drop_units() {
    for (size_t i = 0; i < units_.size(); ++i) dispose(session_.units()[i], units_[i]);
    units_.clear();
  }

  void add_unit(Record& record, size_t i, const Samples& seconds) {
    GpuUnit& unit = session_.units()[i];
    const size_t entity = record.entity(unit.entity);
    const nvtx::Range range("checking the product");
    kernels::ProductResult result{};
    const bool spoilt = i == 0 && plants_fault(context_, point_.params);
    if (!guarded(unit, [&] { result = units_[i]->check(spoilt); })) return;  // check "gpu" says why
    record.checks.push_back(
        {.name = "product",
         .passed = result.wrong == 0 && result.checked > 0,
         .value = static_cast<double>(result.wrong),
         .limit = 0,
         .entity = entity,
         .detail = result.wrong == 0
                       ? Said()
                       : said("gpu.elements_wrong_of", unit.entity.id, unit.device.uuid,
                              result.wrong, result.checked, result.not_finite,
                              result.first % static_cast<uint64_t>(point_.m),
                              result.first / static_cast<uint64_t>(point_.m))});
    if (result.wrong != 0 || result.checked == 0 || seconds.empty())
      return;  // wrong data yields no number
    const char* rate =
        gpu_dtype(point_.dtype).integer ? "operations_per_second" : "flops_per_second";
    const auto spec = peak_of(unit.sku, point_.dtype);
    const Samples rates = seconds.mapped([&](double s) { return operations(point_) / s; });
    std::optional<Ceiling> ceiling;
    if (spec) ceiling = Ceiling{*spec, said("gpu.dense", unit.sku->name, unit.sku->source)};
    record.add(rate, entity, rates, std::move(ceiling));
    const auto share = [&](double peak) {
      return rates.mapped([&](double r) { return r / peak; });
    };
    if (spec) record.add("share_of_spec", entity, share(*spec));
    if (windows_.size() <= i) return;
    const GpuWindow& window = windows_[i];
    if (!window.clock_hertz.empty()) {
      const double clock = window.clock_hertz.summary().median;
      if (const auto peak = peak_at_clock(unit.sku, point_.dtype, clock))
        record.add("share_of_peak", entity, share(*peak));
    }
    // The work done in the window is that of its samples: each begins where the last one ended.
    add_window(
        record, entity, window,
        operations(point_) * static_cast<double>(batch_) * static_cast<double>(seconds.count()));
  }

  Context& context_;
  GpuSession& session_;
  const cublaslt::Library& library_;
  GemmPoint point_;
  std::vector<std::unique_ptr<GemmUnit>> units_;
  std::unique_ptr<GpuTelemetry> telemetry_;
  std::vector<GpuWindow> windows_;
  int64_t batch_ = 0;      // products of one sample
  bool recorded_ = false;  // a sample is launched as one graph
};

// The reason if some GPU of the run has no units for the point's type: the whole point is skipped
// then.
std::optional<Said> unsupported(Context& context, const GpuSession& session,
                                const GemmPoint& point) {
  Said why;
  for (const GpuUnit& unit : session.units()) {
    if (unit.device.compute_capability < gpu_dtype(point.dtype).least_capability)
      why = said("gpu.has_no", unit.device.name, point.dtype);
  }
  why = agreed(context, why);
  return why.empty() ? std::nullopt : std::optional(why);
}

}  // namespace

std::vector<Record> measure_gpu_gemm(Context& context, const Params& params) {
  require_faulty_rank(context, params);
  auto opened = GpuSession::open(context);
  if (const auto* why = std::get_if<Said>(&opened)) return skipped_record("gemm", params, *why);
  auto& session = std::get<GpuSession>(opened);
  const auto library = cublaslt::open();
  const auto* absent = std::get_if<cublaslt::Absent>(&library);
  if (context.comm.any(absent != nullptr))
    return skipped_record("gemm", params,
                          absent != nullptr ? absent->reason : said("gpu.blas_absent_elsewhere"));
  const auto name = [](const GemmPoint& point) {
    return PointName{point.params, fmt::format("gemm {} {}", point.dtype, point.m)};
  };
  const auto measure = [&](const GemmPoint& point) {
    if (const auto why = unsupported(context, session, point))
      return skipped_record("gemm", point.params, *why)[0];
    return Gemm(context, session, std::get<cublaslt::Library>(library), point).measure();
  };
  return run_points(context, "gemm", gemm_points(params), name, measure);
}

}  // namespace cb
