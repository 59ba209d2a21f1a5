// What the GPUs do beside somebody's job: utilisation, SMs, tensor cores, device memory and links
// by NVML. It makes no CUDA context and starts nothing. docs/methods/gpu-activity.md.
#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "bench/cases.h"
#include "bench/gpu/health.h"
#include "bench/gpu/watch.h"
#include "bench/harness/points.h"
#include "core/clock.h"
#include "core/param_builder.h"
#include "sys/os/deadline_call.h"
#include "sys/os/process_family.h"

namespace cb {
namespace {

constexpr double kRowSeconds = 1;
constexpr double kLookSeconds = 0.25;  // four looks a row: the job beside it must not feel them

CaseInfo describe() {
  using namespace param;
  return {
      .name = "watch",
      .device = "",
      .summary = "what the GPUs do beside a job: SMs, tensor cores, device memory, links",
      .example = "clusterbench watch --pid 4711 --duration 60s --json w.json",
      .domain = "host",
      .needs = {.gpu = true},
      .params = {integer("pid")
                     .help("watch only the GPUs of this process and of its descendants")
                     .range(1, 4194304),
                 integer("gpu").help("watch only these, by NVML's index").range(0, 1023).list(),
                 duration("duration").help("how long to watch").by_default("60s").range(1, 864000),
                 duration("patience")
                     .help("time limit for an answer of NVML")
                     .by_default("30s")
                     .range(0.1, 600)},
      .metrics = watch_metrics(),
      .checks = {"gpu"},
      .fault = {.why_not = said("fault.counters")},
  };
}

struct Seen {
  std::optional<nvml::Library> library = {};
  std::vector<GpuProcesses> gpus = {};
  Said absent = {};
};

Seen look_around() {
  auto opened = nvml::open();
  if (auto* absent = std::get_if<nvml::Absent>(&opened)) return {.absent = absent->reason};
  const auto& library = std::get<nvml::Library>(opened);
  Seen out{.library = library};
  for (nvml::Gpu& gpu : library.gpus()) {
    Said why;
    auto pids = library.processes(gpu, why);
    out.gpus.push_back({std::move(gpu), pids.value_or(std::vector<int>())});
  }
  return out;
}

class Watch {
 public:
  Watch(Context& context, const Params& params) : context_(context), params_(params) {}

  // Collective: all ranks go through the same rows, and the first rank of each host watches.
  std::vector<Record> run() {
    Record record{.case_name = "watch", .params = params_};
    const Said why = begin();
    if (context_.comm.any(failure_ != nullptr)) {
      if (failure_) std::rethrow_exception(failure_);
      return {std::move(record)};
    }
    if (context_.comm.any(!why.empty())) {
      if (!why.empty()) record.outcome = Skipped{said("said.of", context_.place.host, why)};
      return {std::move(record)};
    }
    const bool interrupted = watch_rows();
    for (const WatchedGpu& gpu : gpus_) gpu.report(record, context_.place.host);
    if (telemetry_) telemetry_->stop(record, context_.place.host);
    if (ended_) record.notes.push_back(said("watch.process_ended", pid(), *ended_));
    if (interrupted) {
      keep_unfinished(context_, std::move(record));
      throw Interrupted();
    }
    return {std::move(record)};
  }

 private:
  int pid() const { return params_.has("pid") ? static_cast<int>(params_.integer("pid")) : 0; }

  std::set<int> indices() const {
    std::set<int> out;
    if (!params_.has("gpu")) return out;
    for (const int64_t index : params_.integers("gpu")) out.insert(static_cast<int>(index));
    return out;
  }

  // Returns why this host cannot be watched. An error is kept: the ranks agree on it first.
  Said begin() {
    try {
      return context_.place.first_on_host() ? begin_here() : Said();
    } catch (const Error&) {
      failure_ = std::current_exception();
      return {};
    }
  }

  Said begin_here() {
    if (pid() != 0 && context_.place.hosts.size() > 1) throw Error(said("watch.one_host", pid()));
    std::set<int> family;
    if (pid() != 0) {
      family = process_family(context_.fs, pid());
      if (family.empty()) throw Error(said("watch.no_process", pid(), context_.place.host));
    }
    const double patience = params_.number("patience");
    const auto seen = call_with_deadline<Seen>(patience, look_around);
    if (!seen)
      throw Error(said("nvml.hangs_next", context_.place.host, nvml::last_call(),
                       fmt::format("{}", patience)),
                  ExitCode::deadline);
    if (!seen->library) return seen->absent;
    const std::vector<nvml::Gpu> chosen = watched_gpus(seen->gpus, indices(), family, pid());
    for (const nvml::Gpu& gpu : chosen) gpus_.emplace_back(gpu);
    if (!chosen.empty())
      telemetry_ = std::make_unique<GpuTelemetry>(*seen->library, chosen, patience, kLookSeconds);
    return {};
  }

  // Returns whether a signal ended it.
  bool watch_rows() {
    const double duration = params_.number("duration"), start = monotonic_seconds();
    context_.watchdog.note("watching GPUs");
    for (int row = 1;; ++row) {
      if (telemetry_) telemetry_->open_window();
      const double end = std::min(start + row * kRowSeconds, start + duration);
      const bool cancelled = wait_until(end);
      if (telemetry_) close_row(end - start, duration);
      context_.watchdog.progress();
      if (context_.comm.any(cancelled)) return true;
      if (pid() != 0 && !context_.fs.exists(fmt::format("/proc/{}", pid())))
        ended_ = fmt::format("{:.0f}", end - start);
      if (context_.comm.any(ended_.has_value() || end >= start + duration)) return false;
    }
  }

  bool wait_until(double end) const {
    constexpr double kSlice = 0.05;
    for (double now = monotonic_seconds(); now < end; now = monotonic_seconds()) {
      if (context_.cancel.cancelled()) return true;
      std::this_thread::sleep_for(std::chrono::duration<double>(std::min(kSlice, end - now)));
    }
    return context_.cancel.cancelled();
  }

  void close_row(double at, double duration) {
    const std::vector<GpuWindow> windows = telemetry_->close_window();
    std::string row = fmt::format("{:>6.0f} s", at);
    for (size_t i = 0; i < gpus_.size(); ++i) {
      gpus_[i].add(windows[i]);
      row += fmt::format("  {:>15}", gpus_[i].latest());
    }
    constexpr int kRowsBetweenHeadings = 20;
    if (rows_++ % kRowsBetweenHeadings == 0) context_.progress.row(heading());
    context_.progress.row(row);
    context_.progress.update(at / duration, fmt::format("watching {} GPUs", gpus_.size()));
  }

  std::string heading() const {
    std::string out = "percent of utilisation/SMs/tensor/DRAM\n        ";
    for (const WatchedGpu& gpu : gpus_)
      out += fmt::format("  {:>15}", fmt::format("GPU {}", gpu.gpu().index));
    return out;
  }

  Context& context_;
  const Params& params_;
  std::vector<WatchedGpu> gpus_;
  std::unique_ptr<GpuTelemetry> telemetry_;
  std::optional<std::string> ended_;  // seconds after which the process was gone
  std::exception_ptr failure_ = {};
  int rows_ = 0;
};

std::vector<Record> run_watch(Context& context, const Params& params) {
  return Watch(context, params).run();
}

}  // namespace

Case watch_case() { return {describe(), run_watch, {}, nvml_absence}; }

}  // namespace cb
