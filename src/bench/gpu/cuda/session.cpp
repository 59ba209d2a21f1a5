#include "bench/gpu/cuda/session.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/gpu/gpu_plan.h"
#include "kernels/hash.h"
#include "sys/gpu/cuda/cublaslt.h"
#include "sys/gpu/cuda_runtime.h"
#include "sys/os/deadline_call.h"

namespace cb {
namespace {

constexpr double kPatienceSeconds = 30;

// Collective. The uuids of the GPUs that this rank drives.
std::vector<std::string> my_share(Context& context, const std::vector<cuda::Device>& seen) {
  std::string mine;
  for (const cuda::Device& d : seen) mine += d.uuid + "\n";
  std::vector<RankGpus> ranks;
  const std::vector<std::string> all = context.comm.gather(mine);
  for (size_t r = 0; r < all.size(); ++r) {
    RankGpus one{context.place.hosts[static_cast<size_t>(context.place.host_of_rank[r])], {}};
    std::istringstream words(all[r]);
    for (std::string uuid; words >> uuid;) one.uuids.push_back(uuid);
    ranks.push_back(std::move(one));
  }
  std::string plan;
  for (const auto& share : assign_gpus(ranks)) plan += fmt::format("{}\n", fmt::join(share, " "));
  std::istringstream lines(context.comm.broadcast_text(plan));
  std::string line;
  for (int r = 0; r <= context.comm.rank(); ++r) std::getline(lines, line);
  std::istringstream words(line);
  std::vector<std::string> out;
  for (std::string uuid; words >> uuid;) out.push_back(uuid);
  return out;
}

// The reason why a device that CUDA lists cannot be used; empty if it can.
Said unusable(const cuda::Device& device) {
  try {
    cuda::select(device.ordinal);
    cuda::memory_info();
    const int code = kernels::find_kernels();
    if (code == 0) return {};
    if (!cuda::lacks_code(code)) cuda::check_launch(code, "cudaFuncGetAttributes");
    cuda::forget_error();
    return said(
        "gpu.no_kernels", device.name,
        fmt::format("{}.{}", device.compute_capability / 10, device.compute_capability % 10), code,
        device.compute_capability);
  } catch (const std::exception& e) {
    return said("gpu.unusable", said_by(e));
  }
}

struct Nvml {
  std::optional<nvml::Library> library;
  std::vector<nvml::Gpu> gpus;
  Said absent;
};

Nvml open_nvml() {
  const auto answer = call_with_deadline<Nvml>(kPatienceSeconds, [] {
    auto opened = nvml::open();
    if (auto* absent = std::get_if<nvml::Absent>(&opened)) return Nvml{{}, {}, absent->reason};
    const auto& library = std::get<nvml::Library>(opened);
    return Nvml{library, library.gpus(), ""};
  });
  if (answer) return *answer;
  return {{}, {}, said("nvml.not_back", nvml::last_call())};
}

// For a GPU in MIG mode, CUDA shows slices with uuids of their own but with the GPU's address.
bool in_mig_mode(const HostInventory& inventory, const cuda::Device& device) {
  for (const Part* part : inventory.all("gpu")) {
    if (text_of(part, "uuid") != device.uuid && part->id != device.pci_address) continue;
    const auto mig = part->attributes.find("mig");
    return mig != part->attributes.end() && mig->second == Attribute(true);
  }
  return false;
}

// Makes the check "gpu" of that entity fail. If it has failed already, the telemetry knows the
// cause.
void fail(Record& record, size_t entity, const Said& why) {
  const auto there = std::ranges::find_if(
      record.checks, [&](const Check& c) { return c.name == "gpu" && c.entity == entity; });
  Check& check = there != record.checks.end() ? *there : record.checks.emplace_back();
  check.name = "gpu";
  check.entity = entity;
  if (!check.passed && !check.detail.empty()) return;
  check.passed = false;
  check.detail = why;
}

// True if `entity` is that GPU or a pair that the GPU is part of.
bool involves(const Entity& entity, const Entity& gpu) {
  if (entity == gpu) return true;
  return entity.kind == "pair" && entity.host == gpu.host &&
         (entity.id == gpu.id || entity.peer == gpu.host + ":" + gpu.id);
}

void withhold_numbers(Record& record) {
  for (Check& check : record.checks) {
    check.finding = true;
    if (check.passed) continue;
    const Entity& bad = record.entities[check.entity];
    std::erase_if(record.metrics,
                  [&](const Metric& m) { return involves(record.entities[m.entity], bad); });
  }
}

}  // namespace

std::variant<GpuSession, Said> GpuSession::open(Context& context) {
  GpuSession session;
  Said problem;
  auto found = cuda::devices();
  std::vector<cuda::Device> seen;
  if (const auto* absent = std::get_if<cuda::Absent>(&found))
    problem = absent->reason;
  else
    seen = std::get<std::vector<cuda::Device>>(std::move(found));
  Nvml known = open_nvml();
  session.nvml_ = std::move(known.library);
  session.no_nvml_ = std::move(known.absent);
  const std::vector<std::string> share = my_share(context, seen);
  for (const cuda::Device& device : seen) {
    if (std::ranges::find(share, device.uuid) == share.end() || !problem.empty()) continue;
    GpuUnit unit{.device = device};
    for (const nvml::Gpu& gpu : known.gpus) {
      if (gpu.uuid == device.uuid) unit.nvml = gpu;
    }
    unit.sku = find_gpu_sku(device.name, static_cast<double>(device.memory_bytes));
    unit.entity = {context.place.host, "gpu",
                   std::to_string(unit.nvml ? static_cast<int>(unit.nvml->index) : device.ordinal)};
    if (in_mig_mode(context.inventory, device))
      problem = said("gpu.mig", unit.entity.id, unit.entity.id);
    else
      problem = unusable(device);
    session.units_.push_back(std::move(unit));
  }
  if (!problem.empty()) problem = said("said.of", context.who(), problem);
  problem = agreed(context, problem);
  if (!problem.empty()) return problem;
  return session;
}

std::unique_ptr<GpuTelemetry> GpuSession::watch() const {
  if (!nvml_ || units_.empty()) return nullptr;
  std::vector<nvml::Gpu> gpus;
  for (const GpuUnit& unit : units_) {
    if (!unit.nvml) return nullptr;
    gpus.push_back(*unit.nvml);
  }
  return std::make_unique<GpuTelemetry>(*nvml_, std::move(gpus));
}

void GpuSession::end_watch(GpuTelemetry* watch, Record& record, const std::string& host) {
  if (watch == nullptr) return;
  watch->stop(record, host);
  for (size_t i = 0; i < units_.size(); ++i) {
    const auto why = watch->fatal(i);
    if (why && units_[i].lost.empty()) lose(units_[i], *why);
  }
}

GpuLimits GpuSession::limits(const GpuUnit& unit) const {
  if (!nvml_ || !unit.nvml) return {};
  return {nvml_->power_limit_watts(*unit.nvml), nvml_->highest_memory_clock_hertz(*unit.nvml)};
}

void GpuSession::describe(Record& record) const {
  record.facts["cuda_driver"] = cuda::driver_version();
  record.facts["cuda_runtime"] = cuda::runtime_version();
  if (const auto module = cuda::module_in_use()) record.facts["cuda_module"] = module->reason;
  if (nvml_) record.facts["driver"] = nvml_->driver_version();
  if (!nvml_) record.notes.push_back(said("gpu.no_sensors", no_nvml_));
  for (const GpuUnit& unit : units_) {
    record.facts["gpu"] = unit.device.name;
    if (unit.sku != nullptr) {
      record.facts["peaks"] = said("said.of", unit.sku->name, unit.sku->source);
    } else {
      const Said note = said("gpu.unknown_product", unit.device.name);
      if (std::ranges::find(record.notes, note) == record.notes.end()) record.notes.push_back(note);
    }
  }
}

void GpuSession::settle(Record& record) const {
  for (const GpuUnit& unit : units_) {
    if (!unit.lost.empty()) fail(record, record.entity(unit.entity), unit.lost);
  }
  withhold_numbers(record);
}

int selected(const GpuUnit& unit) {
  cuda::select(unit.device.ordinal);
  return unit.device.ordinal;
}

void lose(GpuUnit& unit, const Said& why) {
  unit.lost = said("gpu.lost", entity_name(unit.entity), unit.device.uuid, why);
}

bool guarded(GpuUnit& unit, const std::function<void()>& work) {
  if (!unit.lost.empty()) return false;
  try {
    work();
    return true;
  } catch (const cublaslt::Unsupported&) {
    throw;
  } catch (const cuda::OutOfMemory&) {
    throw;
  } catch (const Error& e) {
    cuda::forget_error();
    unit.hangs = e.code() == ExitCode::deadline;
    lose(unit, e.said());
    return false;
  }
}

void free_in_time(GpuUnit& unit, const std::function<void()>& free) {
  try {
    if (call_with_deadline<bool>(kGpuFreeSeconds, [free, ordinal = unit.device.ordinal] {
          try {
            cuda::select(ordinal);
          } catch (const Error&) {
            cuda::forget_error();  // the device has failed: freeing says so at once
          }
          free();
          return true;
        }))
      return;
    unit.hangs = true;
    lose(unit, said("gpu.not_freed", fmt::format("{}", kGpuFreeSeconds)));
  } catch (const std::exception& e) {  // no thread could be made
    lose(unit, said_by(e));
  }
}

int first_with_gpu(Context& context, const GpuSession& session) {
  const bool here =
      std::ranges::any_of(session.units(), [](const GpuUnit& unit) { return unit.lost.empty(); });
  const int ranks = context.comm.size();
  const double lowest = -context.comm.max(-static_cast<double>(here ? context.comm.rank() : ranks));
  return static_cast<int>(lowest) == ranks ? 0 : static_cast<int>(lowest);
}

Said agreed(Context& context, Said problem) {
  for (const std::string& other : context.comm.gather(pack_said(problem))) {
    if (problem.empty()) problem = unpack_said(other);
  }
  return unpack_said(context.comm.broadcast_text(pack_said(problem)));
}

std::vector<Record> skipped_record(const char* name, const Params& params, Said reason) {
  return {{.case_name = name, .params = params, .outcome = Skipped{std::move(reason)}}};
}

void add_window(Record& record, size_t entity, const GpuWindow& window, double done) {
  if (!window.clock_hertz.empty()) record.add("clock_hertz", entity, window.clock_hertz);
  if (!window.watts.empty()) record.add("watts", entity, window.watts);
  const auto watts = window.mean_watts();
  if (done > 0 && watts && *watts > 0 && window.seconds > 0)
    record.add("flops_per_joule", entity, {done / (*watts * window.seconds)});
  const std::string name = entity_name(record.entities[entity]);
  if (const Said did = activity_sentence(window.activity()); !did.empty())
    record.notes.push_back(said("activity.of", name, did));
  if (!window.no_units.empty())
    record.notes.push_back(said("activity.absent", name, window.no_units));
  if (window.throttled > 0)
    record.notes.push_back(said("gpu.throttled", name, window.throttled, window.samples));
  if (window.power_capped > 0)
    record.notes.push_back(said("gpu.at_limit", name, window.power_capped, window.samples));
}

}  // namespace cb
