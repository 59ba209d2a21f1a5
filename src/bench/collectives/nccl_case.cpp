// Collectives of NCCL (or RCCL) on GPUs over a sweep of sizes, with the names, sizes and bandwidths
// of nccl-tests. An iteration is some calls back to back, timed on the host from the rank's leaving
// a barrier until its devices are done, over the number of calls; making and checking the data is
// not counted. docs/methods/nccl.md.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "bench/cases.h"
#include "bench/collectives/figures.h"
#include "bench/collectives/nccl/affinity.h"
#include "bench/collectives/nccl/configuration.h"
#include "bench/collectives/nccl/environment.h"
#include "bench/collectives/nccl/library_log.h"
#include "bench/collectives/nccl/measurement.h"
#include "bench/collectives/nccl/options.h"
#include "bench/collectives/nccl/ranks.h"
#include "bench/collectives/plan.h"
#include "bench/gpu/measure.h"
#include "core/param_builder.h"
#include "core/units.h"

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
      flag("paths").help(
          "log which way data takes between the ranks: GPUDirect RDMA, sockets, PXN, "
          "CollNet, NVLS"),
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
  for (MetricDef& m : nccl::log_metrics()) out.metrics.push_back(std::move(m));
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

std::string no_gpu_room(const Context& context, Devices& devices, const CollectivePoint& p,
                        size_t lanes) {
  const uint64_t needed = RankBuffers::buffer_bytes(p.size, element_bytes(p.type)) * lanes;
  for (auto& device : devices) {
    const double room = kShareOfMemory * static_cast<double>(device->free_bytes());
    if (static_cast<double>(needed) > room)
      return said("coll.no_room", Quantity{static_cast<double>(needed), "bytes"},
                  context.place.host + " " + device->name(),
                  Quantity{room / kShareOfMemory, "bytes"})
          .text();
  }
  return "";
}

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
  std::optional<nccl::LibraryLog> log;
  const nccl::LogWants wants{params.flag("algorithms"), params.flag("paths")};
  if (wants.any()) nccl::apply(log.emplace(wants).environment(), problems);
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
  throw_agreed(context.comm, "clusterbench nccl", problems);
  const int members = static_cast<int>(devices.size());
  const std::string split = params.has("split") ? params.text("split") : "";
  check_split(context.place, split, members, problems);
  throw_agreed(context.comm, "clusterbench nccl", problems);
  if (context.comm.is_root())
    context.log(library.name() + ": " + nccl::rank_map_text(map, kMaxMapLines));

  const std::vector<Group> groups = make_groups(context.place, context.comm.rank(), split);
  // Groups that work at the same time need a stream each on the devices.
  std::vector<Devices> of_group;
  of_group.push_back(std::move(devices));
  while (of_group.size() < groups.size())
    of_group.push_back(std::get<Devices>(open_devices(context, params)));
  std::vector<int> sizes;
  for (const Group& group : groups) sizes.push_back(group.comm.size() * members);
  const PlanLimits limits{.in_place = InPlace::nccl, .no_room = [&](const CollectivePoint& point) {
                            return params.text("memory") == "host"
                                       ? no_host_room(context, point, groups.size())
                                       : no_gpu_room(context, of_group.front(), point,
                                                     groups.size());
                          }};
  const auto points = plan_lanes(context, params, sizes, limits, problems);
  for (const std::string& op : params.texts("op")) {
    if (is_pairwise(collective_of(op)) && members > 1)
      problems.add("--gpus", fmt::format("{} pairs ranks: give each rank one GPU", op));
  }
  if (is_grid(split) && params.flag("graph"))
    problems.add("--graph", "records one group's calls: leave it or --split grid out");
  throw_agreed(context.comm, "clusterbench nccl", problems);
  nccl::Measurement measurement(context, params, library, environment, log ? &*log : nullptr, map);
  for (size_t l = 0; l < groups.size(); ++l)
    measurement.add_lane(groups[l], of_group[l], points[l]);
  return run_collectives(context, "nccl", params, points.front(), [&](size_t i) {
    Record record = measurement.run(i);
    record.facts["rank_map"] = nccl::rank_map_text(map, kMaxMapLines);
    if (const auto nics = nccl::nearest_nics_text(map, kMaxMapLines))
      record.facts["nearest_nics"] = *nics;
    if (!near.fit().note.empty()) record.notes.push_back(near.fit().note);
    nccl::describe_configuration(record, context);
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
