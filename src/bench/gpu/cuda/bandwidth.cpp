// `bandwidth --device gpu`: the order in which GPUs move data, and their metrics.
#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "bench/gpu/copy_ceiling.h"
#include "bench/gpu/cuda/copies.h"
#include "bench/gpu/gpu_plan.h"
#include "bench/gpu/measure.h"
#include "bench/harness/fault.h"
#include "bench/harness/points.h"
#include "sys/cpu/affinity.h"
#include "sys/cpu/numa.h"

namespace cb {
namespace {

constexpr int64_t kMaxRepetitions = 1000;
constexpr unsigned kUnknownIndex = ~0U;

// CPUs of the GPU's NUMA node if `near`, else of another node; empty if the node is unknown or
// there is no other.
std::vector<int> cpus_of(const Context& context, const GpuUnit& unit, bool near) {
  const auto node =
      context.fs.integer("/sys/bus/pci/devices/" + unit.device.pci_address + "/numa_node");
  if (!node || *node < 0) return {};
  std::vector<int> out;
  int wanted = static_cast<int>(*node);
  const Machine machine = read_machine();
  if (!near) {
    const auto other = std::ranges::find_if(machine.nodes, [&](int n) { return n != *node; });
    if (other == machine.nodes.end()) return {};
    wanted = *other;
  }
  for (const Core& core : machine.cores) {
    if (core.node == wanted) out.insert(out.end(), core.cpus.begin(), core.cpus.end());
  }
  return out;
}

SamplePlan plan_of(const Params& params, const std::string& what, bool together) {
  SamplePlan plan{.warm_up_seconds = params.number("warm-up"), .together = together, .what = what};
  plan.stop.max_seconds = params.number("duration");
  if (params.has("iterations")) {
    plan.stop.min_samples = plan.stop.max_samples =
        static_cast<uint64_t>(params.integer("iterations"));
    plan.stop.target_half_width = 0;
    plan.stop.max_seconds = 1e9;
  }
  return plan;
}

// One operation under measurement, on a GPU or a pair of GPUs.
struct Job {
  std::unique_ptr<Mover> mover;
  GpuUnit* unit = nullptr;
  const GpuUnit* peer = nullptr;
  Samples seconds = Samples();
  DataErrors errors = {};  // errors of all samples, warm-up included
  uint64_t verified = 0;   // verified repetitions
  uint64_t loads = 0;      // loads of one repetition
};

// The copies of one sampling. What a case that is interrupted or fails leaves on the GPUs is
// disposed of as what it finished.
struct Jobs {
  Jobs() = default;
  ~Jobs() {
    for (Job& job : list) dispose(*job.unit, job.mover);
  }
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;
  std::vector<Job> list;
};

class Bandwidth {
 public:
  Bandwidth(Context& context, GpuSession& session, const CopyPoint& point)
      : context_(context),
        session_(session),
        point_(point),
        seed_(static_cast<uint64_t>(point.params.integer("seed"))),
        record_{.case_name = "bandwidth", .params = point.params} {}

  Record measure() {
    session_.describe(record_);
    telemetry_ = session_.watch();
    if (is_peer()) {
      measure_pairs();
    } else if (one_at_a_time()) {
      measure_in_turn();
    } else {
      Jobs jobs;
      for (GpuUnit& unit : session_.units()) {
        const KeepAffinity keep;
        add_job(jobs.list, unit);
      }
      sample(jobs.list, true);
      finish(jobs.list);
    }
    if (const Said why = agreed(context_, too_much_); !why.empty()) throw Error(why);
    if (const Said why = nothing_done(); !why.empty())
      return skipped_record("bandwidth", point_.params, why)[0];
    session_.end_watch(telemetry_.get(), record_, context_.place.host);
    session_.settle(record_);
    return std::move(record_);
  }

 private:
  bool is_peer() const {
    return point_.op.kind == CopyKind::peer || point_.op.name == "peer_latency";
  }
  // Collective. The reason why no GPU of any rank could do this; empty if one did or failed.
  Said nothing_done() {
    const bool tried = !record_.checks.empty() ||
                       std::ranges::any_of(session_.units(),
                                           [](const GpuUnit& unit) { return !unit.lost.empty(); });
    if (context_.comm.any(tried)) return {};
    const Said why = agreed(context_, record_.notes.empty() ? Said() : record_.notes.back());
    return why.empty() ? said("gpu.none_could") : why;
  }

  // The driver stages pageable copies on the calling thread: this thread can feed only one GPU
  // then.
  bool one_at_a_time() const {
    if (point_.op.kind != CopyKind::host) return point_.op.kind == CopyKind::latency;
    return point_.params.flag("one-at-a-time") || point_.params.text("memory") == "pageable";
  }

  std::unique_ptr<Mover> mover_of(const GpuUnit& unit, const GpuUnit& peer) {
    return point_.op.kind == CopyKind::latency ? latency_mover(unit, &peer, seed_)
                                               : peer_mover(unit, peer, point_, seed_);
  }
  std::unique_ptr<Mover> mover_of(const GpuUnit& unit) {
    if (point_.op.kind == CopyKind::local) return local_mover(unit, point_, seed_);
    if (point_.op.kind == CopyKind::latency) return latency_mover(unit, nullptr, seed_);
    return host_mover(unit, point_, seed_);
  }

  // Binds this thread to CPUs near the GPU or far from it. The buffers are then made and touched
  // there, and pageable copies run there: the driver stages those on the calling thread. False if
  // there is no such node.
  bool bind_for(const GpuUnit& unit) {
    if (point_.op.kind != CopyKind::host) return true;
    const bool near = point_.params.text("numa") == "near";
    const std::vector<int> cpus = cpus_of(context_, unit, near);
    if (!cpus.empty()) return bind_thread(cpus);
    record_.notes.push_back(near ? said("gpu.numa_unknown")
                                 : said("gpu.no_other_numa", unit.entity.id));
    return near;
  }

  // The caller holds a KeepAffinity during the call; if the copies are pageable, during sampling
  // too.
  void add_job(std::vector<Job>& jobs, GpuUnit& unit, GpuUnit* peer = nullptr) {
    if (!bind_for(unit)) return;
    Job job{.unit = &unit, .peer = peer};
    // Too little memory is no fault of the GPU: measure() tells all ranks when they meet.
    try {
      guarded(unit, [&] { job.mover = peer == nullptr ? mover_of(unit) : mover_of(unit, *peer); });
    } catch (const cuda::OutOfMemory& e) {
      too_much_ = said("gpu.smaller", entity_name(unit.entity), e.said());
    }
    if (job.mover) {
      job.loads = job.mover->loads();
      jobs.push_back(std::move(job));
    }
    context_.watchdog.progress();
  }

  // Collective. Calls work(i) for the `mine` things of every rank, one rank and one thing at a
  // time. All ranks meet after each thing, so that none goes long without a sign of life.
  void in_turn(size_t mine, const std::function<void(size_t)>& work) {
    const auto most = static_cast<size_t>(context_.comm.max(static_cast<double>(mine)));
    for (int turn = 0; turn < context_.comm.size(); ++turn) {
      for (size_t i = 0; i < most; ++i) {
        if (turn == context_.comm.rank() && i < mine) work(i);
        context_.watchdog.note("waiting for another rank's turn");
        if (context_.comm.any(context_.cancel.cancelled())) throw Interrupted();
        context_.watchdog.progress();
      }
    }
  }

  // Collective. Measures one rank after the other, and its GPUs one after the other.
  void measure_in_turn() {
    if (point_.op.kind == CopyKind::host && point_.params.text("memory") == "pageable")
      record_.notes.push_back(said("gpu.pageable_in_turn"));
    in_turn(session_.units().size(), [&](size_t i) {
      Jobs jobs;
      const KeepAffinity keep;  // holds while this GPU's copies run too
      add_job(jobs.list, session_.units()[i]);
      if (jobs.list.empty()) return;
      sample(jobs.list, false);
      finish(jobs.list);
    });
  }

  // Collective. Measures every ordered pair of this rank's GPUs, one after the other.
  void measure_pairs() {
    const size_t n = session_.units().size();
    in_turn(n * n, [&](size_t i) {
      if (i / n != i % n) measure_pair(session_.units()[i / n], session_.units()[i % n]);
    });
  }

  // Enables access in both directions, since either side may drive a copy engine.
  static bool reachable(GpuUnit& unit, GpuUnit& peer) {
    bool direct = false;
    guarded(peer, [&] { cuda::enable_peer(peer.device.ordinal, unit.device.ordinal); });
    guarded(unit, [&] {
      direct = cuda::enable_peer(unit.device.ordinal, peer.device.ordinal);
      cuda::select(unit.device.ordinal);
    });
    return direct;
  }

  void measure_pair(GpuUnit& unit, GpuUnit& peer) {
    const bool sms = point_.op.kind == CopyKind::latency || point_.params.text("engine") == "sm";
    const bool direct = reachable(unit, peer);
    if (!unit.lost.empty() || !peer.lost.empty()) {
      record_.notes.push_back(said("gpu.lost_pair", unit.entity.id, peer.entity.id));
      return;
    }
    if (!direct) {
      record_.notes.push_back(
          said(sms ? "gpu.unreachable_pair" : "gpu.through_host", unit.entity.id, peer.entity.id));
      if (sms) return;
    }
    Jobs jobs;
    add_job(jobs.list, unit, &peer);
    if (jobs.list.empty()) return;
    sample(jobs.list, false);
    finish(jobs.list);
  }

  // Takes one sample of all jobs and returns the seconds of the slowest. A GPU that fails is left
  // out from then on.
  double sample_once(std::vector<Job>& jobs, int64_t count, bool together, Spans& spans) {
    for (Job& job : jobs) guarded(*job.unit, [&] { job.mover->prepare(); });
    if (together) context_.comm.barrier();
    for (Job& job : jobs) guarded(*job.unit, [&] { job.mover->start(count); });
    double slowest = 1e-9;  // result of a rank without a GPU
    for (Job& job : jobs) {
      guarded(*job.unit, [&] {
        const double one = job.mover->seconds();
        spans.add(span_of(job), one);
        slowest = std::max(slowest, one);
      });
    }
    for (Job& job : jobs) {
      guarded(*job.unit, [&] {
        job.errors.add(job.mover->verify());
        job.verified += static_cast<uint64_t>(count);
      });
    }
    return slowest;
  }

  bool is_faulty(const Job& job) const {
    return job.unit == session_.units().data() && plants_fault(context_, point_.params);
  }

  void sample(std::vector<Job>& jobs, bool together) {
    double longest = 0;
    int64_t most = kMaxRepetitions;
    for (Job& job : jobs) {
      guarded(*job.unit, [&] {
        job.mover->prepare();
        job.mover->start(1);
        longest = std::max(longest, job.mover->seconds());
        if (is_faulty(job)) job.mover->spoil();
        job.errors.add(job.mover->verify());
      });
      most = std::min(most, job.mover->most());
    }
    const int64_t count = jobs.empty() ? 1 : repetitions(longest, kGpuSampleSeconds, most);
    SamplePlan plan = plan_of(point_.params, "copy " + point_.op.name, together);
    if (together) plan.decider = first_with_gpu(context_, session_);
    for (const Job& job : jobs) plan.spans.push_back(span_of(job));
    plan.begin = [this] {
      if (telemetry_) telemetry_->open_window();
    };
    const SampleRun run = context_.sampler.measure_spans(
        plan, [&](Spans& spans) { return sample_once(jobs, count, together, spans); });
    if (telemetry_) windows_ = telemetry_->close_window();
    for (Job& job : jobs) {
      for (const double seconds : run.spans.of(span_of(job))) job.seconds.add(seconds);
    }
  }

  // One series per GPU is enough: only one pair is measured at a time.
  static std::string span_of(const Job& job) { return job.unit->entity.id; }

  Entity entity_of(const Job& job) const {
    if (job.peer == nullptr) return job.unit->entity;
    return {job.unit->entity.host, "pair", job.unit->entity.id,
            fmt::format("{}:{}", job.peer->entity.host, job.peer->entity.id)};
  }

  void finish(std::vector<Job>& jobs) {
    for (Job& job : jobs) {
      guarded(*job.unit, [&] { job.errors.add(job.mover->last_look()); });
      const std::string how = job.mover->how();
      dispose(*job.unit, job.mover);
      context_.watchdog.progress();
      if (!how.empty()) record_.facts["kernel"] = how;
      if (!job.unit->lost.empty()) continue;  // the GPU's check "gpu" says why
      const size_t entity = record_.entity(entity_of(job));
      const DataErrors& errors = job.errors;
      record_.checks.push_back(
          {.name = "pattern",
           .passed = errors.wrong == 0 && job.verified > 0,
           .value = static_cast<double>(errors.wrong),
           .limit = 0,
           .entity = entity,
           .detail = errors.wrong == 0 ? Said()
                                       : said("gpu.copies_wrong", entity_name(entity_of(job)),
                                              job.unit->device.uuid, errors.wrong, job.verified,
                                              fmt::format("{:#x}", errors.first), errors.where)});
      if (errors.wrong == 0 && !job.seconds.empty()) add_metrics(job, entity);
    }
  }

  void add_metrics(const Job& job, size_t entity) {
    if (job.loads > 0) {
      const auto loads = static_cast<double>(job.loads);
      record_.add("latency_seconds", entity,
                  job.seconds.mapped([&](double s) { return s / loads; }));
      return;
    }
    const double bytes = static_cast<double>(point_.bytes) * point_.op.counted;
    const Samples rates = job.seconds.mapped([&](double s) { return bytes / s; });
    if (point_.op.kind == CopyKind::local && job.unit->sku != nullptr) {
      const double spec = job.unit->sku->memory_bytes_per_second;
      record_.add("share_of_spec", entity, rates.mapped([&](double r) { return r / spec; }));
    }
    record_.add("bytes_per_second", entity, rates, ceiling_of(job));
    if (point_.op.kind == CopyKind::host) add_link(job, entity);
  }

  const GpuWindow* window_of(const Job& job) const {
    const auto i = static_cast<size_t>(job.unit - session_.units().data());
    return i < windows_.size() ? &windows_[i] : nullptr;
  }

  void add_link(const Job& job, size_t entity) {
    const GpuWindow* w = window_of(job);
    const auto add = [&](const char* name, const std::optional<double>& value) {
      if (value) record_.add(name, entity, {*value});
    };
    if (w == nullptr) return;
    add("pcie_generation", w->pcie_generation);
    add("pcie_lanes", w->pcie_lanes);
  }

  std::optional<Ceiling> ceiling_of(const Job& job) const {
    const GpuSku* sku = job.unit->sku;
    const double ways = point_.op.counted;
    if (point_.op.kind == CopyKind::local && sku != nullptr)
      return Ceiling{sku->memory_bytes_per_second, said_names({sku->name, sku->source})};
    if (point_.op.kind == CopyKind::peer && job.peer != nullptr)
      return peer_copy_ceiling(sku, part_of(*job.unit),
                               job.peer->nvml ? job.peer->nvml->index : kUnknownIndex, ways);
    if (point_.op.kind != CopyKind::host) return std::nullopt;
    const GpuWindow* w = window_of(job);
    return host_copy_ceiling(part_of(*job.unit), w == nullptr ? std::nullopt : w->pcie_generation,
                             w == nullptr ? std::nullopt : w->pcie_lanes, ways);
  }

  // The GPU in the host's inventory; null if the inventory does not list it.
  const Part* part_of(const GpuUnit& unit) const {
    for (const Part* part : context_.inventory.all("gpu")) {
      if (part->id == unit.device.pci_address) return part;
    }
    return nullptr;
  }

  Context& context_;
  GpuSession& session_;
  const CopyPoint& point_;
  uint64_t seed_;
  Said too_much_;
  Record record_;
  std::unique_ptr<GpuTelemetry> telemetry_;
  std::vector<GpuWindow> windows_;
};

}  // namespace

std::vector<Record> measure_gpu_bandwidth(Context& context, const Params& params) {
  require_faulty_rank(context, params);
  auto opened = GpuSession::open(context);
  if (const auto* why = std::get_if<Said>(&opened))
    return skipped_record("bandwidth", params, *why);
  auto& session = std::get<GpuSession>(opened);
  const double most = context.comm.max(static_cast<double>(session.units().size()));
  const auto name = [](const CopyPoint& point) {
    return PointName{point.params, "bandwidth " + point.op.name};
  };
  const auto measure = [&](const CopyPoint& point) {
    const bool peer = point.op.kind == CopyKind::peer || point.op.name == "peer_latency";
    if (peer && most < 2) return skipped_record("bandwidth", point.params, said("gpu.no_two"))[0];
    return Bandwidth(context, session, point).measure();
  };
  return run_points(context, "bandwidth", copy_points(params), name, measure);
}

}  // namespace cb
