#include "bench/gpu/health.h"

#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sys/os/deadline_call.h"

namespace cb {
namespace {

Entity entity_of(const std::string& host, unsigned index) {
  return {host, "gpu", std::to_string(index)};
}

const MetricDef* definition(const std::vector<MetricDef>& all, const std::string& name) {
  for (const MetricDef& def : all) {
    if (def.name == name) return &def;
  }
  return nullptr;
}

void add(Record& record, const std::vector<MetricDef>& defs, const std::string& name,
         const Entity& entity, double value) {
  const MetricDef* def = definition(defs, name);
  if (def == nullptr) return;  // no criterion can ask for this reading
  record.metrics.push_back({.name = name,
                            .unit = def->unit,
                            .better = def->better,
                            .entity = record.entity(entity),
                            .samples = {value}});
}

// Adds one note per reason: which GPUs could not tell what.
void add_notes(Record& record, const HostHealth& health) {
  std::map<Said, std::vector<std::string>> by_reason;  // "metric: reason" → indices of GPUs
  for (const GpuHealth& g : health.gpus) {
    for (const auto& [name, why] : g.readings.unavailable)
      by_reason[said("gpu.not_read", name, why)].push_back(std::to_string(g.gpu.index));
    if (!g.gpu.unreachable.empty())
      by_reason[said("gpu.unreachable", g.gpu.unreachable)].push_back(std::to_string(g.gpu.index));
  }
  for (const auto& [reason, gpus] : by_reason)
    record.notes.push_back(
        said("gpu.of_gpus", health.host, fmt::format("{}", fmt::join(gpus, ",")), reason));
}

// Adds the fatal Xids of the log, GPU by GPU.
void add_xids(Record& record, const std::vector<MetricDef>& defs, const HostHealth& health) {
  if (!health.xids) {
    record.notes.push_back(said("gpu.xids_unread", health.host, health.no_xids));
    return;
  }
  for (const GpuHealth& g : health.gpus) {
    double fatal = 0;
    std::set<uint64_t> which;
    for (const LoggedXid& x : *health.xids) {
      if (x.pci_address != g.gpu.pci_address || classify_xid(x.xid) != XidKind::fatal) continue;
      ++fatal;
      which.insert(x.xid);
    }
    add(record, defs, "fatal_xids", entity_of(health.host, g.gpu.index), fatal);
    for (const uint64_t xid : which)
      record.notes.push_back(said("gpu.xid_line", health.host, g.gpu.index, xid, xid_meaning(xid)));
  }
}

}  // namespace

std::vector<MetricDef> health_metrics() {
  const auto lower = Better::lower, higher = Better::higher;
  return {
      {"gpus", "count", higher, "of the host, as NVML counts them"},
      {"gpus_on_pci", "count", higher, "of the host, as PCI lists them"},
      {"reachable", "count", higher, "1 if NVML can talk to the GPU"},
      {"ecc_enabled", "count", higher, "1 if ECC is on"},
      {"ecc_uncorrected_volatile", "count", lower, "since the driver was loaded"},
      {"ecc_uncorrected_aggregate", "count", lower, "over the GPU's life"},
      {"ecc_corrected_volatile", "count", lower, "since the driver was loaded"},
      {"sram_uncorrected_aggregate", "count", lower, "over the GPU's life"},
      {"sram_threshold_exceeded", "count", lower, "1: the maker's limit for a return is exceeded"},
      {"rows_remapped_correctable", "count", lower, "rows of device memory replaced"},
      {"rows_remapped_uncorrectable", "count", lower, "rows of device memory replaced"},
      {"row_remap_pending", "count", lower, "1: a reset is needed"},
      {"row_remap_failed", "count", lower, "1: no spare row was left"},
      {"recovery_action", "count", lower,
       "that the driver asks for: 0 none, 1 reset, 2 reboot, 3 drain P2P, 4 drain and reset"},
      {"hw_slowdown", "count", lower, "1: clocks are lowered by the hardware"},
      {"hw_thermal_slowdown", "count", lower, "1: … because it is too hot"},
      {"sw_thermal_slowdown", "count", lower, "1: clocks are lowered by the driver, too hot"},
      {"power_brake", "count", lower, "1: the power supply asks for lower clocks"},
      {"temperature_celsius", "celsius", lower, "of the GPU"},
      {"memory_temperature_celsius", "celsius", lower, "of the device memory"},
      {"power_limit_share", "share", higher, "enforced power limit over the default one"},
      {"persistence_mode", "count", higher, "1 if on"},
      {"mig_mode", "count", lower, "1: the GPU is cut into slices"},
      {"compute_mode", "count", lower, "0 default, 2 prohibited, 3 exclusive process"},
      {"inforom_valid", "count", higher, "1 if the checksum of the GPU's stored data is right"},
      {"processes", "count", lower, "compute programs on the GPU"},
      {"memory_used_bytes", "bytes", lower, "of device memory"},
      {"pcie_lanes_share", "share", higher, "lanes in use over those that GPU and slot have"},
      {"pcie_generation_share", "share", higher, "PCIe generation of the slot over the GPU's"},
      {"pcie_replays", "count", lower, "packets that PCIe sent again"},
      {"nvlinks_active", "count", higher, "NVLinks that are up"},
      {"nvlink_errors", "count", lower, "replays, recoveries and CRC errors over all NVLinks"},
      {"fabric_ready", "count", higher, "1 if the GPU is registered with the NVSwitch fabric"},
      {"fabric_faults", "count", lower, "faults that the fabric reports for the GPU"},
      {"fatal_xids", "count", lower, "fatal Xids of the GPU in the kernel log"},
  };
}

void add_health(Record& record, const HostHealth& health) {
  const std::vector<MetricDef> defs = health_metrics();
  const Entity host{health.host, "host", ""};
  add(record, defs, "gpus", host, static_cast<double>(health.gpus.size()));
  add(record, defs, "gpus_on_pci", host, static_cast<double>(health.gpus_on_pci));
  for (const GpuHealth& g : health.gpus) {
    for (const auto& [name, value] : g.readings.values)
      add(record, defs, name, entity_of(health.host, g.gpu.index), value);
  }
  add_xids(record, defs, health);
  add_notes(record, health);
}

Said nvml_absence(const FsRoot&) {
  constexpr double kLibrarySeconds = 10;
  const auto found = call_with_deadline<Said>(kLibrarySeconds, [] {
    const auto opened = nvml::open();
    const auto* absent = std::get_if<nvml::Absent>(&opened);
    return absent == nullptr ? Said() : absent->reason;
  });
  return found ? *found : said("nvml.silent");
}

}  // namespace cb
