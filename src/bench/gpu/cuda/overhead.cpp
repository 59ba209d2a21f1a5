// `gpu-overhead`: one GPU of a rank after the other, so that the host's thread works for one alone.
#include <algorithm>

#include "bench/gpu/cuda/overhead_probe.h"
#include "bench/gpu/measure.h"
#include "bench/harness/fault.h"
#include "bench/harness/points.h"

namespace cb {
namespace {

SamplePlan overhead_sampling(const Params& params, const std::string& op,
                             std::vector<std::string> names) {
  SamplePlan plan{.warm_up_seconds = params.number("warm-up"),
                  .warm_up_samples = params.number("warm-up") > 0 ? 20U : 0U,
                  .together = false,
                  .what = "overhead of " + op,
                  .spans = std::move(names)};
  plan.stop.max_seconds = params.number("duration");
  if (params.has("iterations")) {
    plan.stop.min_samples = plan.stop.max_samples =
        static_cast<uint64_t>(params.integer("iterations"));
    plan.stop.target_half_width = 0;
    plan.stop.max_seconds = 1e9;
  }
  return plan;
}

class Overhead {
 public:
  Overhead(Context& context, GpuSession& session, const Params& params)
      : context_(context), session_(session), params_(params), op_(params.text("op")) {}

  Record measure() {
    Record record{.case_name = "gpu-overhead", .params = params_};
    session_.describe(record);
    std::unique_ptr<GpuTelemetry> telemetry = session_.watch();
    for (GpuUnit& unit : session_.units()) measure_unit(record, unit);
    session_.end_watch(telemetry.get(), record, context_.place.host);
    session_.settle(record);
    return record;
  }

 private:
  OverheadPlan plan() const {
    return {.launches = params_.integer("launches"),
            .copy_bytes = params_.integer("size"),
            .allocation_bytes = params_.integer("allocation")};
  }

  void measure_unit(Record& record, GpuUnit& unit) {
    std::unique_ptr<OverheadProbe> probe;
    SampleRun run;
    Said what;
    bool right = false;
    const bool spoilt = &unit == session_.units().data() && plants_fault(context_, params_);
    guarded(unit, [&] {
      probe = overhead_probe(op_, plan(), unit);
      run = context_.sampler.measure_spans(overhead_sampling(params_, op_, probe->names()),
                                           [&](Spans& spans) {
                                             probe->sample(spans);
                                             return spans.of(probe->names()[0]).back();
                                           });
      right = probe->right(spoilt, what);
    });
    context_.watchdog.progress();
    if (probe && unit.lost.empty()) add(record, unit, *probe, run, right, what);
    dispose(unit, probe);
  }

  void add(Record& record, const GpuUnit& unit, const OverheadProbe& probe, const SampleRun& run,
           bool right, const Said& what) {
    const size_t entity = record.entity(unit.entity);
    record.checks.push_back({.name = probe.check(),
                             .passed = right,
                             .entity = entity,
                             .detail = right ? Said() : what});
    if (!right) return;  // wrong data yields no number
    for (const std::string& name : probe.names()) {
      Samples samples;
      for (const double value : run.spans.of(name)) samples.add(value);
      if (!samples.empty()) record.add(name, entity, std::move(samples));
    }
  }

  Context& context_;
  GpuSession& session_;
  const Params& params_;
  std::string op_;
};

}  // namespace

std::vector<Record> measure_gpu_overhead(Context& context, const Params& params) {
  require_faulty_rank(context, params);
  auto opened = GpuSession::open(context);
  if (const auto* why = std::get_if<Said>(&opened))
    return skipped_record("gpu-overhead", params, *why);
  auto& session = std::get<GpuSession>(opened);
  std::vector<PointName> points;
  for (const std::string& op : params.texts("op")) {
    Params one = params;
    one.set("op", op);
    points.push_back({one, "overhead of " + op});
  }
  return run_points(context, "gpu-overhead", points, [&](size_t i) -> std::vector<Record> {
    return {Overhead(context, session, points[i].params).measure()};
  });
}

}  // namespace cb
