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

// The GPUs of a rank, which solve a system each: one after the other, while the other ranks' GPUs
// solve theirs. One thread queues all work of a rank: a GPU that is slow or hangs would keep it
// from the others, and their figures would be as bad. Unit is what a GPU has for it. A GPU that
// fails is left out from then on.
template <typename Unit>
class SolvingGpus {
 public:
  // Collective. A wait of more than `hang_seconds` is a hang of the GPU.
  SolvingGpus(Context& context, GpuSession& session, double hang_seconds)
      : context_(context),
        session_(session),
        hang_seconds_(hang_seconds),
        turns_(static_cast<size_t>(context.comm.max(static_cast<double>(session.units().size())))),
        units_(session.units().size()),
        seconds_(session.units().size()),
        windows_(session.units().size()) {}
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
      const Watchdog::Bounded waiting(context_.watchdog, hang_seconds_);
      try {
        guarded(gpu(i), [&] { units_[i] = make(gpu(i)); });
      } catch (const std::exception& e) {
        problem = said("said.of", context_.who(), said_by(e));
      }
    }
    wait_for_others();
    if (const Said why = agreed(context_, problem); !why.empty()) throw Error(why);
  }

  // Calls work(i) for each GPU that is not lost. Where the library refuses a product, the rank goes
  // on with the other ranks, but does nothing.
  void each(const std::function<void(size_t)>& work) {
    for (size_t i = 0; i < size(); ++i) at(i, [&] { work(i); });
  }
  // Why; empty if nothing was refused.
  const Said& refused() const { return refused_; }
  // Collective, where ranks may be late by a hang of each of their GPUs.
  void wait_for_others() {
    const Watchdog::Bounded waiting(context_.watchdog, hang_seconds_ * static_cast<double>(turns_));
    context_.comm.barrier();
  }

  // What a GPU does for a sample; each of them is called for a GPU that is not lost.
  struct Work {
    std::function<void(size_t)> prepare;  // not timed
    std::function<void(size_t)> begin;
    std::function<void(size_t)> step;  // queues
    int64_t steps = 0;
    std::function<double(size_t)> finish;  // waits, and returns the seconds
    std::function<void(size_t)> check;     // not timed
  };
  // Collective. Samples the GPUs in turn, while the telemetry watches the one whose turn it is.
  void sample(const std::string& what, int64_t samples, const Work& work) {
    wait_for_others();
    telemetry_ = session_.watch();
    SamplePlan plan{.warm_up_seconds = 0, .warm_up_samples = 0, .what = what};
    plan.stop.min_samples = plan.stop.max_samples = static_cast<uint64_t>(samples);
    plan.stop.target_half_width = 0;
    plan.stop.max_seconds = 1e9;
    for (size_t i = 0; i < turns_; ++i) sample_one(i, plan, work);
  }
  const Samples& seconds(size_t i) const { return seconds_[i]; }

  // What the telemetry saw of the GPU while it was sampled; `done`: FLOP of a sample.
  void add_telemetry(Record& record, size_t i, size_t entity, double done) const {
    if (telemetry_)
      add_window(record, entity, windows_[i], done * static_cast<double>(seconds_[i].count()));
  }
  // Call it last: GPUs with a failed check lose their numbers.
  void settle(Record& record) {
    session_.end_watch(telemetry_.get(), record, context_.place.host);
    session_.settle(record);
  }

 private:
  void at(size_t i, const std::function<void()>& work) {
    if (!refused_.empty()) return;
    const Watchdog::Bounded waiting(context_.watchdog, hang_seconds_);
    try {
      guarded(gpu(i), work);
    } catch (const cublaslt::Unsupported& e) {
      refused_ = said("said.of", name(i), e.said());
    }
  }

  void sample_one(size_t i, SamplePlan plan, const Work& work) {
    const bool mine = i < size();  // other ranks may have more
    if (mine) plan.spans = {gpu(i).entity.id};
    if (telemetry_) telemetry_->open_window();
    const SampleRun run = context_.sampler.measure_spans(
        plan, [&](Spans& spans) { return mine ? once(i, spans, work) : together_only(); });
    if (telemetry_) keep_window(i, telemetry_->close_window());
    if (!mine) return;
    for (const double s : run.spans.of(gpu(i).entity.id)) seconds_[i].add(s);
  }

  double once(size_t i, Spans& spans, const Work& work) {
    at(i, [&] { work.prepare(i); });
    wait_for_others();
    at(i, [&] { work.begin(i); });
    for (int64_t k = 0; k < work.steps; ++k) {
      at(i, [&] { work.step(i); });
      if (context_.comm.size() == 1 && context_.cancel.cancelled()) throw Interrupted();
    }
    double seconds = kNothing;
    at(i, [&] {
      seconds = work.finish(i);
      work.check(i);
      spans.add(gpu(i).entity.id, seconds);
    });
    wait_for_others();
    return seconds;
  }
  // What a rank does whose GPUs have all had their turns.
  double together_only() {
    wait_for_others();
    wait_for_others();
    return kNothing;
  }

  void keep_window(size_t i, std::vector<GpuWindow> windows) {
    if (i < windows.size() && i < size()) windows_[i] = std::move(windows[i]);
  }

  static constexpr double kNothing = 1e-9;  // seconds of a rank without a GPU

  Context& context_;
  GpuSession& session_;
  double hang_seconds_;
  size_t turns_;  // GPUs of the rank that has the most
  std::vector<std::unique_ptr<Unit>> units_;
  std::vector<Samples> seconds_;
  std::unique_ptr<GpuTelemetry> telemetry_;
  std::vector<GpuWindow> windows_;
  Said refused_;
};

// Throws OutOfMemory, with the sentence `id`, unless the GPU has that much free memory and what is
// taken beside it: by the library for its products, and where kernels are loaded. `size`: what
// needs it. Selects the GPU.
inline void require_free(const GpuUnit& gpu, const char* id, int64_t size, int64_t bytes) {
  selected(gpu);
  bytes += int64_t{64} << 20;
  const int64_t free = cuda::memory_info().free_bytes;
  if (bytes > free)
    throw cuda::OutOfMemory(
        said(id, entity_name(gpu.entity), size, format_size(bytes), format_size(free)));
}

}  // namespace cb
