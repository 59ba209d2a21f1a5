#include "bench/collectives/nccl/measurement.h"

#include <algorithm>

#include "bench/collectives/nccl/options.h"
#include "bench/collectives/nccl/together.h"
#include "core/clock.h"
#include "model/gpu_sku.h"

namespace cb::nccl {
namespace {

// NVLink of the slowest device, and whether its switch reduces (Hopper and newer).
double gpu_link(const Devices& devices, bool& nvls) {
  double least = 0;
  nvls = !devices.empty();
  for (const auto& device : devices) {
    const GpuSku* sku =
        find_gpu_sku(device->product(), static_cast<double>(device->memory_bytes()));
    nvls = nvls && sku != nullptr && sku->pcie_generation >= 5;
    const double link =
        sku != nullptr && sku->nvlink_bytes_per_second ? *sku->nvlink_bytes_per_second : 0;
    least = least == 0 ? link : std::min(least, link);
  }
  return least;
}

CallOptions call_options(const Params& params) {
  CallOptions out{.graph = params.flag("graph")};
  const std::string how = params.text("register");
  if (how == "user") out.registering = Register::user;
  if (how == "window") out.registering = Register::window;
  return out;
}

Entity group_entity(const Group& group) {
  return group.name.empty() ? Entity{"", "cluster", ""} : Entity{group.host, "group", group.name};
}

}  // namespace

Measurement::Measurement(Context& context, const Params& params, const Library& library,
                         Environment environment, LibraryLog* log,
                         const std::vector<RankDevices>& map)
    : context_(context),
      params_(params),
      library_(library),
      environment_(std::move(environment)),
      log_(log),
      domain_of_rank_(domain_of_processes(map)),
      domains_(count_domains(domain_seats(map))),
      hosts_(host_names(map)) {}

void Measurement::add_lane(const Group& group, Devices& devices,
                           const std::vector<CollectivePoint>& points) {
  Lane lane{.group = group, .points = points, .comms = {}, .wires = {}};
  lane.comms = std::make_unique<Communicators>(library_, context_, group.comm, devices,
                                               comm_options(params_));
  bool nvls = false;
  const double link = gpu_link(devices, nvls);
  lane.wires = collective_wires(context_, group, lane.comms->ranks(), link, nvls, domain_of_rank_);
  lanes_.push_back(std::move(lane));
  std::vector<Communicators*> fellows;
  for (const Lane& one : lanes_) fellows.push_back(one.comms.get());
  fellows.erase(fellows.begin());
  lanes_.front().comms->abort_too(std::move(fellows));
}

Record Measurement::run(size_t i) {
  const std::string started = utc_now();
  Record record = lanes_.front().group.dimension ? run_grid(i) : run_alone(lanes_.front(), i);
  record.started = started;
  record.ended = utc_now();
  return record;
}

Record Measurement::run_alone(const Lane& lane, size_t i) {
  const CollectivePoint& point = lane.points[i];
  const std::unique_ptr<NcclCall> call = call_of(lane, i);
  const bool alone = lane.comms->ranks() < 2;
  const auto estimate = alone ? std::nullopt : call->estimate();
  call->prepare(0);
  call->set_calls(alone ? 1 : calls_of(point, [&] { call->run(); }));
  const PointResult result = alone ? check_point(context_, point, *call)
                                   : measure_point(context_, point, lane.group.comm, *call);
  Record record = begin_collective_record(context_, "nccl", params_, point, result);
  describe(record, {call.get()});
  if (log_ != nullptr) log_->read();
  add_domains(record, result.measured);
  if (alone)
    end_alone(record, result);
  else
    add_figures(record, lane, point, result, estimate);
  return record;
}

Record Measurement::run_grid(size_t i) {
  std::vector<std::unique_ptr<NcclCall>> calls;
  std::vector<NcclCall*> together;
  std::vector<const NcclCall*> described;
  std::vector<CollectiveLane> parts;
  for (const Lane& lane : lanes_) {
    calls.push_back(call_of(lane, i));
    together.push_back(calls.back().get());
    described.push_back(calls.back().get());
    parts.push_back({lane.group.comm, *calls.back(), lane.points[i]});
  }
  std::vector<double> unused(calls.size());
  for (NcclCall* call : together) call->prepare(0);
  const int times = calls_of(lanes_.front().points[i], [&] { run_together(together, 1, unused); });
  for (NcclCall* call : together) call->set_calls(times);
  const std::vector<PointResult> results = measure_lanes(
      context_, parts,
      [&](std::span<double> seconds) { return run_together(together, times, seconds); });
  const PointResult joined = joined_lanes(results);
  Record record =
      begin_collective_record(context_, "nccl", params_, lanes_.front().points[i], joined);
  describe(record, described);
  if (log_ != nullptr) log_->read();
  std::vector<LaneFigures> figures;
  for (size_t l = 0; l < lanes_.size(); ++l)
    figures.push_back({lanes_[l].group, lanes_[l].points[i], results[l],
                       point_ceiling(lanes_[l].points[i], algorithm(), lanes_[l].wires)});
  add_grid_figures(record, context_, joined, figures);
  add_domains(record, joined.measured);
  if (log_ != nullptr) {
    if (log_->wants().paths) describe_paths(record, context_, *log_, joined.measured);
    describe_choices(record, log_->choices(), {}, 1);
  }
  return record;
}

std::unique_ptr<NcclCall> Measurement::call_of(const Lane& lane, size_t i) const {
  const CollectivePoint& point = lane.points[i];
  return std::make_unique<NcclCall>(RankBuffersSpec{.collective = point.collective,
                                                    .type = point.type,
                                                    .reduction = point.reduction,
                                                    .size = point.size,
                                                    .in_place = point.in_place},
                                    *lane.comms, call_options(params_));
}

// Collective; the same on all ranks.
int Measurement::calls_of(const CollectivePoint& point, const std::function<void()>& run_once) {
  // Reduced once more in place, the data would no longer be what is expected.
  if (point.in_place != InPlace::no && reduces(point.collective)) return 1;
  if (params_.has("calls")) return static_cast<int>(params_.integer("calls"));
  return calls_of_iteration(context_.comm.max(seconds_of_a_call(point, run_once)));
}

// The second of two calls: the library connects its ranks in the first.
double Measurement::seconds_of_a_call(const CollectivePoint& point,
                                      const std::function<void()>& run_once) {
  context_.watchdog.note(point.plan.what + ", how long a call takes");
  double start = 0;
  for (int i = 0; i < 2; ++i) {
    context_.watchdog.enter();
    start = monotonic_seconds();
    run_once();
    context_.watchdog.progress();
  }
  return monotonic_seconds() - start;
}

void Measurement::describe(Record& record, const std::vector<const NcclCall*>& calls) {
  const Lane& lane = lanes_.front();
  record.facts["library"] = library_.name();
  record.facts["library_path"] = library_.path();
  record.facts["calls_per_iteration"] = std::to_string(calls.front()->calls());
  record.facts["library_ranks"] = std::to_string(lane.comms->ranks());
  record.facts["communicator"] =
      lane.comms->blocking() ? said("coll.blocking") : said("coll.non_blocking");
  NcclCall::Registrations told;
  for (const NcclCall* call : calls) {
    told.asked += call->registrations().asked;
    told.taken += call->registrations().taken;
  }
  if (told.asked > 0) {
    record.facts["registered"] = said("coll.registered", told.taken, told.asked);
    record.add("registered_share",
               record.entity({context_.place.host, "rank", std::to_string(context_.comm.rank())}),
               {static_cast<double>(told.taken) / static_cast<double>(told.asked)});
  }
  if (told.taken < told.asked)
    record.notes.emplace_back(said("coll.unregistered", told.asked - told.taken, told.asked));
  if (!environment_.empty()) record.facts["environment"] = to_text(environment_);
}

// A communicator of one rank moves nothing: there is nothing to measure, but wrong data is.
void Measurement::end_alone(Record& record, const PointResult& result) {
  if (!result.first_wrong.empty()) return;
  record.checks.clear();
  record.metrics.clear();
  record.entities.clear();
  record.outcome = Skipped{said("coll.alone", result.checks)};
}

// The domains of the job's GPUs, which NVML names; nothing where it names none.
void Measurement::add_domains(Record& record, bool measured) const {
  if (domains_.empty() || !context_.comm.is_root()) return;
  record.facts["nvlink_domains"] = domains_text(domains_, hosts_);
  if (!measured) return;
  // One that ends at its host is the host's own: where others are larger, the host is what is
  // wrong.
  for (const DomainCount& d : domains_) {
    const std::string host = d.only_host ? hosts_.at(static_cast<size_t>(*d.only_host)) : "";
    record.add("domain_gpus", record.entity({host, "nvlink_domain", d.domain}),
               {static_cast<double>(d.gpus)});
  }
}

CollectiveAlgorithm Measurement::algorithm() const {
  if (log_ == nullptr || log_->choices().size() != 1) return CollectiveAlgorithm::any;
  return algorithm_of(log_->choices().front().algorithm);
}

void Measurement::add_figures(Record& record, const Lane& lane, const CollectivePoint& point,
                              const PointResult& result, const std::optional<double>& estimate) {
  if (lane.wires.hosts == 1 && context_.place.hosts.size() > 1 && lane.group.host.empty())
    record.notes.emplace_back(said("coll.uneven"));
  add_collective_figures(
      record, context_,
      {lane.group, lane.comms->ranks(), point_ceiling(point, algorithm(), lane.wires)}, point,
      result);
  note_above_wire(record, point, lane.wires);
  if (log_ != nullptr) {
    if (log_->wants().paths) describe_paths(record, context_, *log_, result.measured);
    const bool leads = result.measured && lane.group.comm.rank() == 0;
    // Of all groups or of none, as paths are.
    const bool untold = context_.comm.any(leads && log_->choices().empty());
    describe_choices(record, log_->choices(),
                     leads && !untold ? std::optional(group_entity(lane.group)) : std::nullopt,
                     lane.wires.hosts);
    if (log_->wants().algorithms) record.notes.emplace_back(said("coll.nccl_log"));
  }
  if (!result.measured || !estimate || lane.group.comm.rank() != 0) return;
  record.add("estimated_seconds", record.entity({"", "cluster", ""}), {*estimate});
}

}  // namespace cb::nccl
