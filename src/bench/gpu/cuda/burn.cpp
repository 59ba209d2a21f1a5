// `burn --device gpu`: phases one after the other, all GPUs at once, every result compared.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <sstream>
#include <thread>

#include <fmt/format.h>

#include "bench/gpu/burn_plan.h"
#include "bench/gpu/cuda/burner.h"
#include "bench/gpu/gemm_points.h"
#include "bench/gpu/measure.h"
#include "bench/gpu/vote.h"
#include "core/clock.h"
#include "core/file.h"
#include "kernels/march.h"

namespace cb {
namespace {

// Long, since a GPU idles between two steps while the host looks at what the first one gave.
constexpr double kStepSeconds = 0.2;
// How often the ranks ask each other whether one was told to stop.
constexpr double kVoteSeconds = 1;
// The injected hang lasts this much longer than it takes to be found, so that the process can end.
constexpr double kHangMargin = 3;

// One GPU in one phase.
struct Seat {
  GpuUnit* unit = nullptr;
  std::unique_ptr<Burner> burner;
  Samples rates = Samples();
  double seconds = 0;  // of steps on the GPU
  uint64_t steps = 0;
  std::string first_wrong;   // the first result was not the golden one
  std::string hung, failed;  // why it was dropped
  bool dropped() const { return !hung.empty() || !failed.empty(); }
};

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
    for (Seat& seat : seats_) dispose(*seat.unit, seat.burner);
  }
  Phase(const Phase&) = delete;
  Phase& operator=(const Phase&) = delete;

  // Collective. Throws Interrupted on every rank if one was told to stop.
  Record run() {
    record_.started = utc_now();
    session_.describe(record_);
    if (library_ != nullptr) record_.facts["library"] = "cuBLASLt " + library_->version();
    if (const std::string why = make_seats(); !why.empty())
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
    for (const Seat& seat : seats_) add_seat(seat);
    if (telemetry_) telemetry_->stop(record_, context_.place.host);
    session_.settle(record_);
    record_.ended = utc_now();
    return std::move(record_);
  }

 private:
  // Collective. Why the library cannot multiply this on some GPU; else empty. Throws Error on all
  // ranks where memory does not suffice on one. A GPU that fails or failed before has no seat.
  std::string make_seats() {
    context_.watchdog.note("filling memory for " + name_);
    std::string too_much, unsupported;
    for (GpuUnit& unit : session_.units()) {
      BurnMaker maker{.unit = &unit, .library = library_, .phase = name_};
      maker.size = params_.integer("size");
      maker.seed = static_cast<uint64_t>(params_.integer("seed"));
      maker.memory_share = params_.number("memory-share");
      Seat seat;
      seat.unit = &unit;
      try {
        if (guarded(unit, [&] { seat.burner = make_burner(maker); }))
          seats_.push_back(std::move(seat));
      } catch (const cublaslt::Unsupported& e) {
        unsupported = e.what();
      } catch (const std::exception& e) {
        too_much = context_.who() + ": " + e.what();
      }
      context_.watchdog.progress();
    }
    if (const std::string why = agreed(context_, too_much); !why.empty()) throw Error(why);
    return agreed(context_, unsupported);
  }

  // Collective. Every GPU computes once; the majority of its kind, or the stored golden, says what
  // is right.
  void elect() {
    std::string mine;
    std::vector<uint64_t> hashes;
    for (Seat& seat : seats_) {
      uint64_t hash = 0;
      const bool computed = guarded(*seat.unit, [&] { hash = seat.burner->hash(); });
      hashes.push_back(hash);
      if (!computed) {
        drop(seat);
        continue;
      }
      mine += fmt::format("{}\t{}\t{}\n", entity_name(seat.unit->entity), seat.burner->kind(),
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
    for (size_t i = 0; i < seats_.size(); ++i) {
      if (!seats_[i].dropped()) expect(seats_[i], golden, hashes[i]);
    }
  }

  // On rank 0: "kind \t hash" lines.
  std::string decide(const std::vector<Ballot>& ballots) {
    if (!context_.comm.is_root()) return "";
    Golden golden = vote(ballots);
    for (const auto& [kind, why] : golden.undecided) record_.notes.push_back(kind + ": " + why);
    for (const std::string& kind : golden.alone) {
      if (!stored_.contains(kind) || params_.has("write-golden"))
        record_.notes.push_back(
            "one GPU of its kind: compared with its own first result, not with "
            "others (" +
            kind + ")");
    }
    std::string out;
    for (auto& [kind, hash] : golden.by_kind) {
      if (params_.has("golden") && stored_.contains(kind)) hash = stored_[kind];
      if (params_.has("golden") && !stored_.contains(kind))
        record_.notes.push_back("the golden file has no hash of " + kind);
      if (params_.has("write-golden")) stored_[kind] = hash;
      out += fmt::format("{}\t{}\n", kind, hash);
    }
    record_.facts["golden"] = params_.has("golden") ? "stored" : "majority of the GPUs";
    return out;
  }

  static void expect(Seat& seat, const std::map<std::string, uint64_t>& golden, uint64_t hash) {
    const auto found = golden.find(seat.burner->kind());
    const std::string name = entity_name(seat.unit->entity);
    if (found == golden.end()) {
      seat.first_wrong = name +
                         ": GPUs of its kind do not agree and none of their results has a "
                         "majority: burn it beside more GPUs, or with --golden";
      return;
    }
    seat.burner->expect(found->second);
    if (hash != found->second)
      seat.first_wrong = fmt::format("{} ({}): its first {} result differs from the golden one",
                                     name, seat.unit->device.uuid, seat.burner->kind());
  }

  void inject() {
    const std::string& fault = params_.text("inject-fault");
    if (fault == "none" || context_.comm.rank() != 0 || seats_.empty()) return;
    Seat& seat = seats_[0];
    if (fault == "hang")
      work_on(seat, [&] { seat.burner->hang(params_.number("hang-after") + kHangMargin); });
    else
      seat.burner->inject(fault == "nan" ? Fault::nan : Fault::bitflip);
    record_.notes.push_back(fmt::format("a fault was injected on purpose: {}", fault));
  }

  // True if some rank was told to stop. Every rank votes equally often, however long its steps.
  bool burn() {
    const double start = monotonic_seconds();
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
    return false;
  }

  // One step on all GPUs that are left; false if there is none.
  bool step_all() {
    const double seconds = plan_.pulse ? plan_.pulse->on_seconds() : kStepSeconds;
    bool any = false;
    for (Seat& seat : seats_) {
      if (telemetry_ && seat.unit->lost.empty()) {
        seat.unit->lost = telemetry_->fatal(position_of(seat)).value_or("");
        drop(seat);
      }
      work_on(seat, [&] { seat.burner->start(seconds); });
    }
    for (Seat& seat : seats_) {
      work_on(seat, [&] {
        const double work = seat.burner->finish(params_.number("hang-after"));
        const double took = seat.burner->step_seconds();
        seat.rates.add(work / took);
        seat.seconds += took;
        ++seat.steps;
      });
      any |= !seat.dropped();
    }
    return any;
  }

  // The GPU's place among this rank's, which is its place in the telemetry.
  size_t position_of(const Seat& seat) const {
    return static_cast<size_t>(seat.unit - session_.units().data());
  }

  // A GPU that fails or hangs costs itself, not the others.
  static void work_on(Seat& seat, const std::function<void()>& work) {
    if (seat.dropped()) return;
    if (!guarded(*seat.unit, work)) drop(seat);
  }
  static void drop(Seat& seat) {
    if (!seat.dropped()) (seat.unit->hangs ? seat.hung : seat.failed) = seat.unit->lost;
  }

  // Until the next pulse, counted from the common start.
  void rest(double start) const {
    const double period = plan_.pulse->period_seconds();
    const double now = monotonic_seconds() - start;
    const double next = std::ceil(now / period) * period;
    std::this_thread::sleep_for(std::chrono::duration<double>(next - now));
  }

  std::string status() const {
    uint64_t passes = 0, wrong = 0;
    for (const Seat& seat : seats_) {
      passes += seat.burner->findings().passes;
      wrong += seat.burner->findings().wrong;
    }
    return fmt::format("burn {}, {} GPUs, {} passes, {} wrong", name_, seats_.size(), passes,
                       wrong);
  }

  const char* result_check() const {
    if (name_ == "sm") return "sm";
    return name_ == "march" ? "memory" : "result";
  }

  void add_check(const char* name, size_t entity, uint64_t wrong, const std::string& detail) {
    record_.checks.push_back({.name = name,
                              .passed = wrong == 0,
                              .value = static_cast<double>(wrong),
                              .limit = 0,
                              .entity = entity,
                              .detail = wrong == 0 ? "" : detail});
  }

  void add_seat(const Seat& seat) {
    const BurnFindings& found = seat.burner->findings();
    const size_t entity = record_.entity(seat.unit->entity);
    std::string detail = seat.first_wrong.empty() ? found.first : seat.first_wrong;
    uint64_t wrong = found.wrong + (seat.first_wrong.empty() ? 0 : 1);
    if (found.passes == 0) {
      wrong = std::max<uint64_t>(wrong, 1);
      if (detail.empty())
        detail = entity_name(seat.unit->entity) + ": no pass was finished" +
                 (seat.failed.empty() ? "" : ": " + seat.failed);
    }
    add_check(result_check(), entity, wrong,
              fmt::format("{}; {} wrong in {} passes", detail, found.wrong, found.passes));
    if (is_product_phase(name_))
      add_check("finite", entity, found.not_finite,
                fmt::format("{}: {} elements are NaN or infinite", entity_name(seat.unit->entity),
                            found.not_finite));
    add_check("hang", entity, seat.hung.empty() ? 0 : 1, seat.hung);
    if (!seat.failed.empty())
      record_.notes.push_back(
          fmt::format("{} was stopped early: {}", entity_name(seat.unit->entity), seat.failed));
    if (name_ == "march" && !found.all_tests && !seat.dropped())
      record_.notes.push_back(
          fmt::format("{}: the time did not suffice for all {} memory tests: give a longer "
                      "--duration",
                      entity_name(seat.unit->entity), kernels::march_tests));
    if (wrong == 0 && !seat.dropped()) add_metrics(seat, entity);
  }

  void add_metrics(const Seat& seat, size_t entity) {
    const bool memory = name_ == "hbm" || name_ == "march";
    const bool integer = is_product_phase(name_) && gpu_dtype(name_).integer;
    const char* rate = memory    ? "bytes_per_second"
                       : integer ? "operations_per_second"
                                 : "flops_per_second";
    Metric metric{.name = rate, .unit = rate, .entity = entity, .samples = seat.rates};
    const auto peak = peak_of(seat.unit->sku, name_);
    if (peak) metric.ceiling = Ceiling{*peak, seat.unit->sku->name + ", dense"};
    record_.metrics.push_back(std::move(metric));
    record_.metrics.push_back(
        {.name = "passes_per_second",
         .unit = "count per second",
         .entity = entity,
         .samples = {static_cast<double>(seat.burner->findings().passes) / elapsed_}});
    if (plan_.pulse) add_pulse(seat, entity);
    const size_t i = position_of(seat);
    if (i < windows_.size()) add_power(windows_[i], *seat.unit, entity);
  }

  // The pulses that there were: a product that is longer than a pulse makes fewer and longer ones.
  void add_pulse(const Seat& seat, size_t entity) {
    const double hertz = static_cast<double>(seat.steps) / elapsed_;
    record_.metrics.push_back(
        {.name = "pulse_hertz", .unit = "hertz", .entity = entity, .samples = {hertz}});
    record_.metrics.push_back({.name = "pulse_duty",
                               .unit = "share",
                               .entity = entity,
                               .samples = {seat.seconds / elapsed_}});
    if (hertz < 0.9 * plan_.pulse->hertz)
      record_.notes.push_back(
          fmt::format("{}: {:.1f} pulses a second instead of {:.1f}: give a smaller --size",
                      entity_name(seat.unit->entity), hertz, plan_.pulse->hertz));
  }

  void add_power(const GpuWindow& window, const GpuUnit& unit, size_t entity) {
    add_window(record_, entity, window, 0);
    const auto limit = session_.power_limit_watts(unit);
    for (Metric& m : record_.metrics) {
      if (m.entity != entity || m.name != "watts") continue;
      m.better = Better::higher;
      if (limit) m.ceiling = Ceiling{*limit, "the enforced power limit"};
    }
    const auto watts = window.mean_watts();
    if (watts && limit && *limit > 0)
      record_.metrics.push_back({.name = "share_of_power_limit",
                                 .unit = "share",
                                 .entity = entity,
                                 .samples = {*watts / *limit}});
    if (!window.temperature_celsius.empty())
      record_.metrics.push_back({.name = "temperature_celsius",
                                 .unit = "celsius",
                                 .better = Better::lower,
                                 .entity = entity,
                                 .samples = window.temperature_celsius});
  }

  Context& context_;
  GpuSession& session_;
  const cublaslt::Library* library_;
  BurnPlan plan_;
  std::string name_;
  std::map<std::string, uint64_t>& stored_;
  const Params& params_;
  Record record_;
  std::vector<Seat> seats_;
  std::unique_ptr<GpuTelemetry> telemetry_;
  std::vector<GpuWindow> windows_;
  double elapsed_ = 1;
};

// Collective. The stored golden, read by rank 0; the same UsageError on all ranks if it is none.
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

std::string unsupported(Context& context, const GpuSession& session, const std::string& phase) {
  std::string why;
  for (const GpuUnit& unit : session.units()) {
    if (is_product_phase(phase) &&
        unit.device.compute_capability < gpu_dtype(phase).least_capability)
      why = fmt::format("{} has no {}", unit.device.name, phase);
  }
  return agreed(context, why);
}

}  // namespace

std::vector<Record> measure_gpu_burn(Context& context, const Params& params) {
  auto stored = read_golden(context, params);
  auto opened = GpuSession::open(context);
  if (const auto* why = std::get_if<std::string>(&opened))
    return skipped_record("burn", params, *why);
  auto& session = std::get<GpuSession>(opened);
  std::vector<Record> records;
  const auto library = cublaslt::open();
  const auto* absent = std::get_if<cublaslt::Absent>(&library);
  const std::string no_library = agreed(context, absent == nullptr ? "" : absent->reason);
  for (const std::string& phase : burn_plan(params).phases) {
    std::string why = unsupported(context, session, phase);
    if (why.empty() && is_product_phase(phase)) why = no_library;
    if (!why.empty()) {
      records.push_back(skipped_record("burn", params.with("phase", phase), why)[0]);
      continue;
    }
    const auto* used = is_product_phase(phase) ? &std::get<cublaslt::Library>(library) : nullptr;
    try {
      records.push_back(Phase(context, session, used, params, phase, stored).run());
    } catch (const Interrupted&) {
      throw Interrupted(std::move(records));
    }
  }
  if (params.has("write-golden") && context.comm.is_root())
    write_file_atomically(params.text("write-golden"), golden_to_text(stored));
  return records;
}

}  // namespace cb
