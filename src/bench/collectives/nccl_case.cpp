// Collectives of NCCL (or RCCL) on GPUs over a sweep of sizes, with the names, sizes and bandwidths
// of nccl-tests. An iteration is some calls back to back, timed on the host from the rank's leaving
// a barrier until its devices are done, over the number of calls; making and checking the data is
// not counted. docs/methods/nccl.md.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "bench/cases.h"
#include "bench/collectives/figures.h"
#include "bench/collectives/link_rates.h"
#include "bench/collectives/nccl/affinity.h"
#include "bench/collectives/nccl/call.h"
#include "bench/collectives/nccl/environment.h"
#include "bench/collectives/nccl/options.h"
#include "bench/collectives/nccl/ranks.h"
#include "bench/collectives/plan.h"
#include "bench/gpu/measure.h"
#include "core/clock.h"
#include "core/param_builder.h"
#include "core/units.h"
#include "model/gpu_sku.h"
#include "model/nccl_tuning.h"
#include "sys/os/temporary_file.h"

namespace cb {
namespace {

using nccl::Devices;
using nccl::Library;

// Kernels, the library's own buffers and the system need some of a GPU's memory too.
constexpr double kShareOfMemory = 0.85;
constexpr size_t kMaxMapLines = 64;

std::vector<ParamDef> own_params() {
  using namespace param;
  return {
      integer("gpus")
          .help(
              "GPUs that each rank drives; by default the host's GPUs are divided among its ranks")
          .range(1, 64),
      integer("calls")
          .help("back to back in a timed iteration; by default what fills 20 ms, 5 to 20")
          .range(1, 10000),
      choice("communicator", {"blocking", "non-blocking"})
          .help("non-blocking: the library starts a thread for every call, which costs small sizes "
                "tens of us")
          .by_default("blocking"),
      choice("register", {"none", "user", "window"})
          .help("the buffers with the library: user buffers, or symmetric windows")
          .by_default("none"),
      flag("graph").help("the calls of an iteration as one CUDA graph"),
      integer("min-ctas").help("thread blocks that the library uses, at least").range(1, 64),
      integer("max-ctas").help("and at most").range(1, 64),
      choice("cta-policy", {"default", "efficiency", "zero"})
          .help("the library's policy: efficiency uses fewer thread blocks, zero uses the copy "
                "engines"),
      choice("transport", nccl::transport_names())
          .help("use only this path between the GPUs of a host, where the library can"),
      flag("algorithms").help("log which algorithm, protocol and channels the library chose"),
      choice("memory", {"gpu", "host"})
          .help("host is for a library that stands in for NCCL")
          .by_default("gpu"),
      duration("init-deadline")
          .help("time limit to make the communicators")
          .by_default("90s")
          .at_least(0.1),
      duration("wait-deadline")
          .help("time limit of a call; then the communicator is aborted")
          .by_default("60s")
          .at_least(0.1)};
}

CaseInfo describe() {
  CaseInfo out{
      .name = "nccl",
      .device = "",
      .summary = "collectives on GPUs: bandwidth, latency, every element checked",
      .example = "mpirun -np 16 clusterbench nccl --op all_reduce --max-size 8G --json n.json",
      .domain = "network",
      .params =
          joined({collective_params(element_type_names(), reduction_names(), "1G"), own_params()}),
      .metrics = collective_metrics(),
      .checks = {"data"},
      .fault = collective_fault(),
      .fact_columns = {"algorithm"},
  };
  out.metrics.push_back({"estimated_seconds", "seconds", Better::lower,
                         "of one call, as the library's own model says before it is run"});
  return out;
}

// The first rank's reason that is not empty, on all ranks.
Said agreed_reason(Context& context, const Said& mine) {
  std::string found;
  for (const std::string& text : context.comm.gather(pack_said(mine))) {
    if (found.empty()) found = text;
  }
  return unpack_said(context.comm.broadcast_text(found));
}

std::vector<Record> skipped(const Params& params, Said reason) {
  return {{.case_name = "nccl", .params = params, .outcome = Skipped{std::move(reason)}}};
}

std::string no_gpu_room(Devices& devices, const CollectivePoint& p) {
  const uint64_t needed = RankBuffers::buffer_bytes(p.size, element_bytes(p.type));
  for (auto& device : devices) {
    const double room = kShareOfMemory * static_cast<double>(device->free_bytes());
    if (static_cast<double>(needed) > room)
      return said("coll.no_room", Quantity{static_cast<double>(needed), "bytes"}, device->name(),
                  Quantity{room / kShareOfMemory, "bytes"})
          .text();
  }
  return "";
}

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

class Measurement {
 public:
  Measurement(Context& context, const Params& params, const Library& library, Devices& devices,
              const Group& group, nccl::Environment environment, TemporaryFile* log)
      : context_(context),
        params_(params),
        group_(group),
        environment_(std::move(environment)),
        log_(log),
        comms_(library, context, group.comm, devices, nccl::comm_options(params)) {
    bool nvls = false;
    const double link = gpu_link(devices, nvls);
    wires_ = collective_wires(context, group, comms_.ranks(), link, nvls);
  }

  Record run(const CollectivePoint& point) {
    const std::string started = utc_now();
    nccl::NcclCall call({.collective = point.collective,
                         .type = point.type,
                         .reduction = point.reduction,
                         .size = point.size,
                         .in_place = point.in_place},
                        comms_, call_options());
    const bool alone = comms_.ranks() < 2;
    const auto estimate = alone ? std::nullopt : call.estimate();
    call.set_calls(calls_of(point, call));
    const PointResult result = alone ? check_point(context_, point, call)
                                     : measure_point(context_, point, group_.comm, call);
    Record record = begin_collective_record(context_, "nccl", params_, point, result);
    record.started = started;
    describe(record, call);
    if (alone)
      end_alone(record, result);
    else
      add_figures(record, point, result, estimate);
    record.ended = utc_now();
    return record;
  }

 private:
  nccl::CallOptions call_options() const {
    nccl::CallOptions out{.graph = params_.flag("graph")};
    const std::string how = params_.text("register");
    if (how == "user") out.registering = nccl::Register::user;
    if (how == "window") out.registering = nccl::Register::window;
    return out;
  }

  // Collective; the same on all ranks.
  int calls_of(const CollectivePoint& point, nccl::NcclCall& call) {
    // Reduced once more in place, the data would no longer be what is expected.
    if (point.in_place != InPlace::no && reduces(point.collective)) return 1;
    if (params_.has("calls")) return static_cast<int>(params_.integer("calls"));
    if (comms_.ranks() < 2) return 1;
    return nccl::calls_of_iteration(context_.comm.max(seconds_of_a_call(point, call)));
  }

  // The second of two calls: the library connects its ranks in the first.
  double seconds_of_a_call(const CollectivePoint& point, nccl::NcclCall& call) {
    context_.watchdog.note(point.plan.what + ", how long a call takes");
    call.prepare(0);
    double start = 0;
    for (int i = 0; i < 2; ++i) {
      context_.watchdog.enter();
      start = monotonic_seconds();
      call.run();
      context_.watchdog.progress();
    }
    return monotonic_seconds() - start;
  }

  void describe(Record& record, const nccl::NcclCall& call) {
    record.facts["library"] = comms_.library().name();
    record.facts["library_path"] = comms_.library().path();
    record.facts["calls_per_iteration"] = std::to_string(call.calls());
    record.facts["library_ranks"] = std::to_string(comms_.ranks());
    record.facts["communicator"] =
        comms_.blocking() ? said("coll.blocking") : said("coll.non_blocking");
    const auto told = call.registrations();
    if (told.asked > 0)
      record.facts["registered"] = said("coll.registered", told.taken, told.asked);
    if (told.taken < told.asked)
      record.notes.emplace_back(said("coll.unregistered", told.asked - told.taken, told.asked));
    if (!environment_.empty()) record.facts["environment"] = nccl::to_text(environment_);
  }

  // A communicator of one rank moves nothing: there is nothing to measure, but wrong data is.
  void end_alone(Record& record, const PointResult& result) {
    if (!result.first_wrong.empty()) return;
    record.checks.clear();
    record.entities.clear();
    record.outcome = Skipped{said("coll.alone", result.checks)};
  }

  void add_figures(Record& record, const CollectivePoint& point, const PointResult& result,
                   const std::optional<double>& estimate) {
    const std::vector<TuningChoice> chosen = choices();
    auto algorithm = CollectiveAlgorithm::any;
    if (chosen.size() == 1) algorithm = algorithm_of(chosen[0].algorithm);
    std::string text;
    for (const TuningChoice& c : chosen) text += (text.empty() ? "" : "; ") + to_text(c);
    if (!text.empty()) record.facts["algorithm"] = text;
    if (log_ != nullptr) record.notes.emplace_back(said("coll.nccl_log"));
    if (wires_.hosts == 1 && context_.place.hosts.size() > 1 && group_.host.empty())
      record.notes.emplace_back(said("coll.uneven"));
    add_collective_figures(record, context_,
                           {group_, comms_.ranks(), point_ceiling(point, algorithm, wires_)}, point,
                           result);
    note_above_wire(record, point, wires_);
    if (!result.measured || !estimate || group_.comm.rank() != 0) return;
    record.add("estimated_seconds", record.entity({"", "cluster", ""}), {*estimate});
  }

  // What the library logged since the last time.
  std::vector<TuningChoice> choices() {
    return log_ == nullptr ? std::vector<TuningChoice>{} : parse_tuning_log(log_->read_new());
  }

  Context& context_;
  const Params& params_;
  const Group& group_;
  nccl::Environment environment_;
  TemporaryFile* log_;
  nccl::Communicators comms_;
  LinkRates wires_;
};

// This rank's devices, or why some rank has none.
std::variant<Devices, Said> open_devices(Context& context, const Params& params) {
  const int wanted = params.has("gpus") ? static_cast<int>(params.integer("gpus")) : 0;
  if (params.text("memory") == "host") return nccl::host_devices(std::max(1, wanted));
  auto found = nccl::gpu_devices(context);
  if (auto* devices = std::get_if<Devices>(&found); devices != nullptr && wanted > 0) {
    if (devices->size() > static_cast<size_t>(wanted)) devices->resize(static_cast<size_t>(wanted));
  }
  return found;
}

std::vector<Record> run(Context& context, const Params& params) {
  // The variables first: the library reads them when it is opened.
  Problems problems;
  nccl::Environment environment;
  if (params.has("transport")) environment = nccl::transport_environment(params.text("transport"));
  nccl::apply(environment, problems);
  std::optional<TemporaryFile> log;
  if (params.flag("algorithms")) {
    log.emplace("nccl-tuning");
    nccl::apply(nccl::tuning_log_environment(log->path()), problems);
  }
  throw_agreed(context.comm, "clusterbench nccl", problems);

  auto opened_devices = open_devices(context, params);
  if (auto* reason = std::get_if<Said>(&opened_devices)) return skipped(params, *reason);
  Devices& devices = std::get<Devices>(opened_devices);
  const nccl::NearDevices near(context, devices);
  const auto opened = Library::open();
  const auto* absent = std::get_if<Said>(&opened);
  const Said reason =
      agreed_reason(context, absent == nullptr ? Said() : said("said.of", context.who(), *absent));
  if (!reason.empty()) return skipped(params, reason);
  const Library& library = std::get<Library>(opened);

  const std::vector<nccl::RankDevices> map =
      nccl::gather_rank_map(context, devices, near.fit().text);
  nccl::check_rank_map(map, problems);
  nccl::check_library(library, params, problems);
  const int members = static_cast<int>(devices.size());
  const std::string split = params.has("split") ? params.text("split") : "";
  check_split(context.place, split, members, problems);
  throw_agreed(context.comm, "clusterbench nccl", problems);
  if (context.comm.is_root())
    context.log(library.name() + ": " + nccl::rank_map_text(map, kMaxMapLines));

  const Group group = make_group(context.place, context.comm.rank(), split);
  const PlanLimits limits{.ranks = group.comm.size() * members,
                          .in_place = InPlace::nccl,
                          .no_room = [&](const CollectivePoint& point) {
                            return params.text("memory") == "host" ? no_host_room(context, point)
                                                                   : no_gpu_room(devices, point);
                          }};
  const std::vector<CollectivePoint> points = plan_collectives(context, params, limits, problems);
  for (const CollectivePoint& point : points) {
    if (is_pairwise(point.collective) && members > 1)
      problems.add("--gpus", fmt::format("{} pairs ranks: give each rank one GPU",
                                         collective_name(point.collective)));
  }
  throw_agreed(context.comm, "clusterbench nccl", problems);
  Measurement measurement(context, params, library, devices, group, environment,
                          log ? &*log : nullptr);
  return run_collectives(context, "nccl", params, points, [&](const CollectivePoint& point) {
    Record record = measurement.run(point);
    record.facts["rank_map"] = nccl::rank_map_text(map, kMaxMapLines);
    if (const auto nics = nccl::nearest_nics_text(map, kMaxMapLines))
      record.facts["nearest_nics"] = *nics;
    if (!near.fit().note.empty()) record.notes.push_back(near.fit().note);
    return record;
  });
}

void check(const Params& params, Problems& problems) {
  if (params.flag("graph") && params.text("memory") == "host")
    problems.add("--graph", "needs GPUs: there are no graphs in host memory");
  if (params.has("min-ctas") && params.has("max-ctas") &&
      params.integer("min-ctas") > params.integer("max-ctas"))
    problems.add("--min-ctas", "is larger than --max-ctas");
}

Said why_no_nccl(const FsRoot& fs) {
  if (Said reason = why_no_gpu(fs); !reason.empty()) return reason;
  const auto opened = Library::open();
  const auto* absent = std::get_if<Said>(&opened);
  return absent == nullptr ? Said() : *absent;
}

}  // namespace

Case nccl_case() { return {describe(), run, check, why_no_nccl}; }

}  // namespace cb
