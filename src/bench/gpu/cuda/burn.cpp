// `burn --device gpu`: phases one after the other, all GPUs at once, every result compared.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <sstream>
#include <thread>

#include <fmt/format.h>

#include "bench/gpu/burn_plan.h"
#include "bench/gpu/cuda/gpu_phase.h"
#include "bench/gpu/gemm_points.h"
#include "bench/gpu/measure.h"
#include "bench/gpu/vote.h"
#include "bench/harness/points.h"
#include "core/clock.h"
#include "core/file.h"
#include "sys/gpu/nvtx.h"

namespace cb {
namespace {

// While a step runs, the next one is queued for each of eight GPUs, which takes some ten
// milliseconds.
constexpr double kStepSeconds = 0.2;
// Interval at which the ranks ask each other whether one was told to stop.
constexpr double kVoteSeconds = 1;
// The injected hang lasts this many seconds longer than its detection, so that the process can end.
constexpr double kHangMargin = 3;

class Phase {
 public:
  Phase(Context& context, GpuSession& session, const cublaslt::Library* library,
        const Params& params, const std::string& name, std::map<std::string, uint64_t>& stored)
      : context_(context),
        session_(session),
        library_(library),
        plan_(burn_plan(params)),
        name_(name),
        stored_(stored),
        params_(params),
        record_{.case_name = "burn", .params = params.with("phase", name)} {}

  ~Phase() {
    for (GpuPhase& gpu : gpus_) dispose(*gpu.unit, gpu.burner);
  }
  Phase(const Phase&) = delete;
  Phase& operator=(const Phase&) = delete;

  // Collective. Throws Interrupted on every rank if one rank was told to stop.
  Record run() {
    record_.started = utc_now();
    session_.describe(record_);
    if (library_ != nullptr) record_.facts["library"] = "cuBLASLt " + library_->version();
    if (const Said why = make_seats(); !why.empty())
      return skipped_record("burn", record_.params, why)[0];
    if (is_product_phase(name_)) elect();
    telemetry_ = session_.watch();
    inject();
    context_.comm.barrier();
    if (telemetry_) telemetry_->open_window();
    const double begun = monotonic_seconds();
    const bool interrupted = burn();
    elapsed_ = monotonic_seconds() - begun;
    if (telemetry_) windows_ = telemetry_->close_window();
    if (interrupted) throw Interrupted();
    GpuPhaseReport report{record_, name_, plan_, elapsed_};
    for (const GpuPhase& gpu : gpus_) {
      const size_t i = position_of(gpu);
      report.add(gpu, i < windows_.size() ? &windows_[i] : nullptr, session_.limits(*gpu.unit));
    }
    session_.end_watch(telemetry_.get(), record_, context_.place.host);
    session_.settle(record_);
    record_.ended = utc_now();
    return std::move(record_);
  }

 private:
  // Collective. Returns the reason if the library cannot multiply this on some GPU; else empty.
  // Throws Error on all ranks if the memory of one is too small. A GPU that fails, or failed
  // before, gets no gpu.
  Said make_seats() {
    context_.watchdog.note("filling memory for " + name_);
    const nvtx::Range range("filling memory for " + name_);
    Said too_much, unsupported;
    for (GpuUnit& unit : session_.units()) {
      BurnMaker maker{.unit = &unit, .library = library_, .phase = name_};
      maker.size = params_.integer("size");
      maker.seed = static_cast<uint64_t>(params_.integer("seed"));
      maker.memory_share = params_.number("memory-share");
      GpuPhase gpu;
      gpu.unit = &unit;
      try {
        if (guarded(unit, [&] { gpu.burner = make_burner(maker); }))
          gpus_.push_back(std::move(gpu));
      } catch (const cublaslt::Unsupported& e) {
        unsupported = e.said();
      } catch (const std::exception& e) {
        too_much = said("said.of", context_.who(), said_by(e));
      }
      context_.watchdog.progress();
    }
    if (const Said why = agreed(context_, too_much); !why.empty()) throw Error(why);
    return agreed(context_, unsupported);
  }

  // Collective. Every GPU computes once. The majority of its kind, or the stored golden, decides
  // what is right.
  void elect() {
    std::string mine;
    std::vector<uint64_t> hashes;
    for (GpuPhase& gpu : gpus_) {
      uint64_t hash = 0;
      const bool computed = guarded(*gpu.unit, [&] { hash = gpu.burner->hash(); });
      hashes.push_back(hash);
      if (!computed) {
        drop(gpu);
        continue;
      }
      mine += fmt::format("{}\t{}\t{}\n", entity_name(gpu.unit->entity), gpu.burner->kind(),
                          hashes.back());
    }
    std::vector<Ballot> ballots;
    for (const std::string& rank : context_.comm.gather(mine)) {
      std::istringstream lines(rank);
      Ballot b;
      std::string hash;
      while (std::getline(lines, b.gpu, '\t') && std::getline(lines, b.kind, '\t') &&
             std::getline(lines, hash)) {
        b.hash = std::stoull(hash);
        ballots.push_back(b);
      }
    }
    std::istringstream lines(context_.comm.broadcast_text(decide(ballots)));
    std::map<std::string, uint64_t> golden;
    std::string kind, hash;
    while (std::getline(lines, kind, '\t') && std::getline(lines, hash))
      golden[kind] = std::stoull(hash);
    for (size_t i = 0; i < gpus_.size(); ++i) {
      if (!gpus_[i].dropped()) expect(gpus_[i], golden, hashes[i]);
    }
  }

  // Runs on rank 0. Returns lines of "kind \t hash".
  std::string decide(const std::vector<Ballot>& ballots) {
    if (!context_.comm.is_root()) return "";
    Golden golden = vote(ballots);
    for (const auto& [kind, why] : golden.undecided)
      record_.notes.push_back(said("said.of", kind, why));
    for (const std::string& kind : golden.alone) {
      if (!stored_.contains(kind) || params_.has("write-golden"))
        record_.notes.push_back(said("burn.alone", kind));
    }
    std::string out;
    for (auto& [kind, hash] : golden.by_kind) {
      if (params_.has("golden") && stored_.contains(kind)) hash = stored_[kind];
      if (params_.has("golden") && !stored_.contains(kind))
        record_.notes.push_back(said("burn.no_hash", kind));
      if (params_.has("write-golden")) stored_[kind] = hash;
      out += fmt::format("{}\t{}\n", kind, hash);
    }
    record_.facts["golden"] = params_.has("golden") ? said("burn.stored") : said("burn.majority");
    return out;
  }

  static void expect(GpuPhase& gpu, const std::map<std::string, uint64_t>& golden, uint64_t hash) {
    const auto found = golden.find(gpu.burner->kind());
    const std::string name = entity_name(gpu.unit->entity);
    if (found == golden.end()) {
      gpu.first_wrong = said("burn.disagree", name);
      return;
    }
    gpu.burner->expect(found->second);
    if (hash != found->second)
      gpu.first_wrong = said("burn.first_differs", name, gpu.unit->device.uuid, gpu.burner->kind());
  }

  void inject() {
    const std::string& fault = params_.text("inject-fault");
    if (fault == "none" || context_.comm.rank() != 0 || gpus_.empty()) return;
    GpuPhase& gpu = gpus_[0];
    if (fault == "hang")
      work_on(gpu, [&] { gpu.burner->hang(params_.number("hang-after") + kHangMargin); });
    else
      gpu.burner->inject(fault == "nan" ? Fault::nan : Fault::bitflip);
    record_.notes.push_back(said("fault.injected", fault));
  }

  // Returns true if some rank was told to stop. Every rank votes equally often, however long its
  // steps take.
  bool burn() {
    const nvtx::Range range("burning " + name_);
    const double start = monotonic_seconds();
    if (!plan_.pulse) start_all();  // from here on one step is always queued ahead
    const auto votes = static_cast<uint64_t>(std::ceil(plan_.phase_seconds / kVoteSeconds));
    for (uint64_t vote = 1; vote <= votes; ++vote) {
      const double until =
          start + std::min(static_cast<double>(vote) * kVoteSeconds, plan_.phase_seconds);
      while (monotonic_seconds() < until && step_all()) {
        context_.watchdog.progress();
        context_.progress.update((monotonic_seconds() - start) / plan_.phase_seconds, status());
        if (plan_.pulse) rest(start);
      }
      context_.watchdog.note("burning " + name_);
      if (context_.comm.any(context_.cancel.cancelled())) return true;
      context_.watchdog.progress();
    }
    finish_all();
    return false;
  }

  // Queues a step and finishes the oldest one on every GPU that is left; false if none is left.
  bool step_all() {
    start_all();
    finish_all();
    return std::any_of(gpus_.begin(), gpus_.end(), [](const GpuPhase& s) { return !s.dropped(); });
  }

  void start_all() {
    const double seconds = plan_.pulse ? plan_.pulse->on_seconds() : kStepSeconds;
    for (GpuPhase& gpu : gpus_) {
      const auto fatal = telemetry_ ? telemetry_->fatal(position_of(gpu)) : std::nullopt;
      if (fatal && gpu.unit->lost.empty()) {
        lose(*gpu.unit, *fatal);
        drop(gpu);
      }
      work_on(gpu, [&] { gpu.burner->start(seconds); });
    }
  }

  void finish_all() {
    for (GpuPhase& gpu : gpus_) {
      work_on(gpu, [&] {
        if (gpu.burner->queued() > 0) finish(gpu);
      });
    }
  }

  void finish(GpuPhase& gpu) const {
    const double work = gpu.burner->finish(params_.number("hang-after"));
    const double took = gpu.burner->step_seconds();
    gpu.rates.add(work / took);
    gpu.in_order.push_back(work / took);
    gpu.seconds += took;
    ++gpu.steps;
  }

  // The index of the GPU among those of this rank, in the session and in the telemetry.
  size_t position_of(const GpuPhase& gpu) const {
    return static_cast<size_t>(gpu.unit - session_.units().data());
  }

  // A GPU that fails or hangs drops out; the others go on.
  static void work_on(GpuPhase& gpu, const std::function<void()>& work) {
    if (gpu.dropped()) return;
    if (!guarded(*gpu.unit, work)) drop(gpu);
  }
  static void drop(GpuPhase& gpu) {
    if (!gpu.dropped()) (gpu.unit->hangs ? gpu.hung : gpu.failed) = gpu.unit->lost;
  }

  // Sleeps until the next pulse, which is counted from the common start.
  void rest(double start) const {
    const double period = plan_.pulse->period_seconds();
    const double now = monotonic_seconds() - start;
    const double next = std::ceil(now / period) * period;
    std::this_thread::sleep_for(std::chrono::duration<double>(next - now));
  }

  std::string status() const {
    uint64_t passes = 0, wrong = 0;
    for (const GpuPhase& gpu : gpus_) {
      passes += gpu.burner->findings().passes;
      wrong += gpu.burner->findings().wrong;
    }
    return fmt::format("burn {}, {} GPUs, {} passes, {} wrong", name_, gpus_.size(), passes, wrong);
  }

  Context& context_;
  GpuSession& session_;
  const cublaslt::Library* library_;
  BurnPlan plan_;
  std::string name_;
  std::map<std::string, uint64_t>& stored_;
  const Params& params_;
  Record record_;
  std::vector<GpuPhase> gpus_;
  std::unique_ptr<GpuTelemetry> telemetry_;
  std::vector<GpuWindow> windows_;
  double elapsed_ = 1;
};

// Collective. Rank 0 reads the stored golden. All ranks throw the same UsageError if it cannot be
// read.
std::map<std::string, uint64_t> read_golden(Context& context, const Params& params) {
  std::map<std::string, uint64_t> out;
  Problems problems;
  if (params.has("golden") && context.comm.is_root()) {
    try {
      out = golden_from_text(read_file(params.text("golden")), params.text("golden"));
    } catch (const std::exception& e) {
      problems.add("--golden", e.what());
    }
  }
  throw_agreed(context.comm, "clusterbench burn", problems);
  return out;
}

Said unsupported(Context& context, const GpuSession& session, const std::string& phase) {
  Said why;
  for (const GpuUnit& unit : session.units()) {
    if (is_product_phase(phase) &&
        unit.device.compute_capability < gpu_dtype(phase).least_capability)
      why = said("gpu.has_no", unit.device.name, phase);
  }
  return agreed(context, why);
}

}  // namespace

std::vector<Record> measure_gpu_burn(Context& context, const Params& params) {
  auto stored = read_golden(context, params);
  auto opened = GpuSession::open(context);
  if (const auto* why = std::get_if<Said>(&opened)) return skipped_record("burn", params, *why);
  auto& session = std::get<GpuSession>(opened);
  const auto library = cublaslt::open();
  const auto* absent = std::get_if<cublaslt::Absent>(&library);
  const Said no_library = agreed(context, absent == nullptr ? Said() : absent->reason);
  const auto name = [&](const std::string& phase) {
    return PointName{params.with("phase", phase), "burn " + phase};
  };
  const auto measure = [&](const std::string& phase) {
    Said why = unsupported(context, session, phase);
    if (why.empty() && is_product_phase(phase)) why = no_library;
    if (!why.empty()) return skipped_record("burn", params.with("phase", phase), why)[0];
    const auto* used = is_product_phase(phase) ? &std::get<cublaslt::Library>(library) : nullptr;
    return Phase(context, session, used, params, phase, stored).run();
  };
  std::vector<Record> records =
      run_points(context, "burn", burn_plan(params).phases, name, measure);
  if (params.has("write-golden") && context.comm.is_root())
    write_file_atomically(params.text("write-golden"), golden_to_text(stored));
  return records;
}

}  // namespace cb
