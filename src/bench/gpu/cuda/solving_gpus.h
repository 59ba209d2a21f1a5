#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/gpu/cuda/session.h"
#include "bench/harness/points.h"
#include "core/units.h"
#include "sys/gpu/cuda/cublaslt.h"

namespace cb {

// The GPUs of a rank while each solves a system of its own, all at the same time. Unit is what a
// GPU has for it. A GPU that fails is left out from then on.
template <typename Unit>
class SolvingGpus {
 public:
  SolvingGpus(Context& context, GpuSession& session)
      : context_(context),
        session_(session),
        units_(session.units().size()),
        seconds_(session.units().size()) {}
  ~SolvingGpus() {
    for (size_t i = 0; i < size(); ++i) dispose(gpu(i), units_[i]);
  }
  SolvingGpus(const SolvingGpus&) = delete;
  SolvingGpus& operator=(const SolvingGpus&) = delete;

  size_t size() const { return units_.size(); }
  Unit& operator[](size_t i) { return *units_[i]; }
  GpuUnit& gpu(size_t i) { return session_.units()[i]; }
  std::string name(size_t i) const { return entity_name(session_.units()[i].entity); }

  // Collective. make(gpu) returns the Unit of that GPU. Throws Error on all ranks if one of them
  // has too little memory.
  void make(const std::function<std::unique_ptr<Unit>(const GpuUnit&)>& make) {
    Said problem;
    for (size_t i = 0; i < size(); ++i) {
      try {
        guarded(gpu(i), [&] { units_[i] = make(gpu(i)); });
      } catch (const std::exception& e) {
        problem = said("said.of", context_.who(), said_by(e));
      }
      context_.watchdog.progress();
    }
    if (const Said why = agreed(context_, problem); !why.empty()) throw Error(why);
  }

  // Calls work(i) for each GPU that is not lost. Where the library refuses a product, the rank goes
  // on with the other ranks, but does nothing.
  void each(const std::function<void(size_t)>& work) {
    for (size_t i = 0; i < size() && refused_.empty(); ++i) {
      try {
        guarded(gpu(i), [&] { work(i); });
      } catch (const cublaslt::Unsupported& e) {
        refused_ = said("said.of", name(i), e.said());
      }
    }
  }
  // Why; empty if nothing was refused.
  const Said& refused() const { return refused_; }

  // Collective. Samples `once`, which gives a span of finish(), while the telemetry watches.
  void sample(const std::string& what, int64_t samples, const std::function<double(Spans&)>& once) {
    telemetry_ = session_.watch();
    SamplePlan plan{.warm_up_seconds = 0, .warm_up_samples = 0, .what = what};
    plan.stop.min_samples = plan.stop.max_samples = static_cast<uint64_t>(samples);
    plan.stop.target_half_width = 0;
    plan.stop.max_seconds = 1e9;
    for (size_t i = 0; i < size(); ++i) plan.spans.push_back(gpu(i).entity.id);
    if (telemetry_) telemetry_->open_window();
    const SampleRun run = context_.sampler.measure_spans(plan, once);
    if (telemetry_) windows_ = telemetry_->close_window();
    for (size_t i = 0; i < size(); ++i)
      for (const double s : run.spans.of(gpu(i).entity.id)) seconds_[i].add(s);
  }
  // Queues step(i) on each GPU, that many times.
  void run_steps(int64_t count, const std::function<void(size_t)>& step) {
    for (int64_t k = 0; k < count; ++k) {
      each(step);
      context_.watchdog.progress();
      if (context_.comm.size() == 1 && context_.cancel.cancelled()) throw Interrupted();
    }
  }
  // Waits for each GPU: finish(i) returns its seconds. Returns those of the slowest.
  double finish(Spans& spans, const std::function<double(size_t)>& finish) {
    double slowest = 1e-9;  // result of a rank without a GPU
    each([&](size_t i) {
      const double seconds = finish(i);
      spans.add(gpu(i).entity.id, seconds);
      slowest = std::max(slowest, seconds);
    });
    return slowest;
  }
  const Samples& seconds(size_t i) const { return seconds_[i]; }

  // What the telemetry saw of the GPU while it was sampled; `done`: FLOP of a sample.
  void add_telemetry(Record& record, size_t i, size_t entity, double done) const {
    if (i < windows_.size())
      add_window(record, entity, windows_[i], done * static_cast<double>(seconds_[i].count()));
  }
  // Call it last: GPUs with a failed check lose their numbers.
  void settle(Record& record) {
    if (telemetry_) telemetry_->stop(record, context_.place.host);
    session_.settle(record);
  }

 private:
  Context& context_;
  GpuSession& session_;
  std::vector<std::unique_ptr<Unit>> units_;
  std::vector<Samples> seconds_;
  std::unique_ptr<GpuTelemetry> telemetry_;
  std::vector<GpuWindow> windows_;
  Said refused_;
};

// Throws OutOfMemory, with the sentence `id`, unless the GPU has that much free memory. `size`:
// what needs it. Selects the GPU.
inline void require_free(const GpuUnit& gpu, const char* id, int64_t size, int64_t bytes) {
  selected(gpu);
  const int64_t free = cuda::memory_info().free_bytes;
  if (bytes > free)
    throw cuda::OutOfMemory(
        said(id, entity_name(gpu.entity), size, format_size(bytes), format_size(free)));
}

}  // namespace cb
