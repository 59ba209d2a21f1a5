// Reads what node health checks look at: DCGM's software plugin, Azure's and OCI's scripts.
#include "sys/gpu/nvml/ask.h"

namespace cb::nvml {
namespace {

void health_ecc(const Asker& a, Readings& out) {
  const Table& t = a.table();
  abi::EnableState now{}, pending{};
  const Said why = a.ask("nvmlDeviceGetEccMode", t.nvmlDeviceGetEccMode, &now, &pending);
  if (why.empty())
    out.values["ecc_enabled"] = now == abi::kEnabled ? 1 : 0;
  else
    out.unavailable["ecc_enabled"] = why;
  const char* name = "nvmlDeviceGetTotalEccErrors";
  const auto total = [&](const char* key, abi::MemoryErrorType type, abi::EccCounterType counter) {
    a.number<unsigned long long>(out, key, name, t.nvmlDeviceGetTotalEccErrors, 1, type, counter);
  };
  total("ecc_uncorrected_volatile", abi::kUncorrected, abi::kVolatile);
  total("ecc_uncorrected_aggregate", abi::kUncorrected, abi::kAggregate);
  total("ecc_corrected_volatile", abi::kCorrected, abi::kVolatile);
  a.number<unsigned long long>(out, "sram_uncorrected_aggregate", "nvmlDeviceGetMemoryErrorCounter",
                               t.nvmlDeviceGetMemoryErrorCounter, 1, abi::kUncorrected,
                               abi::kAggregate, abi::kSram);
  abi::SramEccErrors sram{};
  sram.version = abi::kSramEccErrorsVersion;
  const Said no_sram =
      a.ask("nvmlDeviceGetSramEccErrorStatus", t.nvmlDeviceGetSramEccErrorStatus, &sram);
  if (no_sram.empty())
    out.values["sram_threshold_exceeded"] = sram.threshold_exceeded != 0 ? 1 : 0;
  else
    out.unavailable["sram_threshold_exceeded"] = no_sram;
}

void health_clocks(const Asker& a, Readings& out) {
  Said why;
  const auto bits = read_event_reasons(a, why);
  const std::array<std::pair<const char*, uint64_t>, 4> reasons{
      {{"hw_slowdown", kHwSlowdown},
       {"hw_thermal_slowdown", kHwThermal},
       {"sw_thermal_slowdown", kSwThermal},
       {"power_brake", kPowerBrake}}};
  for (const auto& [key, bit] : reasons) {
    if (bits)
      out.values[key] = (*bits & bit) != 0 ? 1 : 0;
    else
      out.unavailable[key] = why;
  }
}

void ratio(Readings& out, const char* key, const Readings& from, const char* of, const char* to) {
  const auto top = from.values.find(of), bottom = from.values.find(to);
  if (top != from.values.end() && bottom != from.values.end() && bottom->second > 0)
    out.values[key] = top->second / bottom->second;
  else
    out.unavailable[key] = top == from.values.end() && from.unavailable.contains(of)
                               ? from.unavailable.at(of)
                           : from.unavailable.contains(to) ? from.unavailable.at(to)
                                                           : said("nvml.zero");
}

void health_settings(const Asker& a, Readings& out) {
  const Table& t = a.table();
  Readings raw;
  a.number<unsigned>(raw, "limit", "nvmlDeviceGetEnforcedPowerLimit",
                     t.nvmlDeviceGetEnforcedPowerLimit, 1);
  a.number<unsigned>(raw, "default", "nvmlDeviceGetPowerManagementDefaultLimit",
                     t.nvmlDeviceGetPowerManagementDefaultLimit, 1);
  ratio(out, "power_limit_share", raw, "limit", "default");
  a.number<abi::EnableState>(out, "persistence_mode", "nvmlDeviceGetPersistenceMode",
                             t.nvmlDeviceGetPersistenceMode, 1);
  unsigned mig = 0, pending = 0;
  const Said no_mig = a.ask("nvmlDeviceGetMigMode", t.nvmlDeviceGetMigMode, &mig, &pending);
  if (no_mig.empty())
    out.values["mig_mode"] = mig;
  else
    out.unavailable["mig_mode"] = no_mig;
  a.number<abi::ComputeMode>(out, "compute_mode", "nvmlDeviceGetComputeMode",
                             t.nvmlDeviceGetComputeMode, 1);
  const Said inforom = a.ask("nvmlDeviceValidateInforom", t.nvmlDeviceValidateInforom);
  if (inforom.empty())
    out.values["inforom_valid"] = 1;
  else if (inforom.text().find(error_text(t, abi::kCorruptedInforom)) != std::string::npos)
    out.values["inforom_valid"] = 0;
  else
    out.unavailable["inforom_valid"] = inforom;
}

void health_use(const Asker& a, Readings& out) {
  const Table& t = a.table();
  unsigned count = 0;  // 0 asks only for the number of processes
  const Said why =
      a.ask("nvmlDeviceGetComputeRunningProcesses_v3", t.nvmlDeviceGetComputeRunningProcesses_v3,
            &count, static_cast<abi::ProcessInfo*>(nullptr));
  const bool answered =
      why.empty() || why.text().find(error_text(t, abi::kInsufficientSize)) != std::string::npos;
  if (answered)
    out.values["processes"] = count;
  else
    out.unavailable["processes"] = why;
  // Leaves out the driver's reserve, which is a gigabyte and more on large parts (driver 510).
  abi::MemoryV2 memory{.version = abi::kMemoryV2Version};
  if (a.ask("nvmlDeviceGetMemoryInfo_v2", t.nvmlDeviceGetMemoryInfo_v2, &memory).empty()) {
    out.values["memory_used_bytes"] = static_cast<double>(memory.used);
    return;
  }
  abi::Memory all{};
  const Said no_memory = a.ask("nvmlDeviceGetMemoryInfo", t.nvmlDeviceGetMemoryInfo, &all);
  if (no_memory.empty())
    out.values["memory_used_bytes"] = static_cast<double>(all.used);
  else
    out.unavailable["memory_used_bytes"] = no_memory;
}

void health_links(const Asker& a, Readings& out) {
  const Table& t = a.table();
  Readings raw;
  a.number<unsigned>(raw, "lanes", "nvmlDeviceGetCurrPcieLinkWidth",
                     t.nvmlDeviceGetCurrPcieLinkWidth, 1);
  a.number<unsigned>(raw, "most lanes", "nvmlDeviceGetMaxPcieLinkWidth",
                     t.nvmlDeviceGetMaxPcieLinkWidth, 1);
  ratio(out, "pcie_lanes_share", raw, "lanes", "most lanes");
  // The slot's best generation, not the current one: an idle link trains down to save power.
  a.number<unsigned>(raw, "generation", "nvmlDeviceGetMaxPcieLinkGeneration",
                     t.nvmlDeviceGetMaxPcieLinkGeneration, 1);
  a.number<unsigned>(raw, "gpu generation", "nvmlDeviceGetGpuMaxPcieLinkGeneration",
                     t.nvmlDeviceGetGpuMaxPcieLinkGeneration, 1);
  ratio(out, "pcie_generation_share", raw, "generation", "gpu generation");
  a.number<unsigned>(out, "pcie_replays", "nvmlDeviceGetPcieReplayCounter",
                     t.nvmlDeviceGetPcieReplayCounter, 1);
  Said why;
  if (const auto active = active_nvlinks(a, why))
    out.values["nvlinks_active"] = static_cast<double>(*active);
  else
    out.unavailable["nvlinks_active"] = why;
  read_nvlink_errors(a, out);
}

void health_fabric(const Asker& a, Readings& out) {
  abi::FabricInfo info{};
  Said no_faults;
  Said why = read_fabric(a, info, no_faults);
  if (why.empty() && info.state == abi::kFabricNotSupported) why = said("nvml.no_fabric");
  if (!why.empty()) {
    out.unavailable["fabric_ready"] = why;
    out.unavailable["fabric_faults"] = why;
    return;
  }
  out.values["fabric_ready"] =
      info.state == abi::kFabricCompleted && info.status == abi::kSuccess ? 1 : 0;
  if (!no_faults.empty()) {
    out.unavailable["fabric_faults"] = no_faults;
    return;
  }
  int faults = 0;
  const unsigned mask = info.health_mask;
  if (abi::fabric_trouble(mask, abi::kFabricDegradedBandwidth)) ++faults;
  if (abi::fabric_trouble(mask, abi::kFabricRouteRecovery)) ++faults;
  if (abi::fabric_trouble(mask, abi::kFabricRouteUnhealthy)) ++faults;
  if (abi::fabric_trouble(mask, abi::kFabricAccessTimeout)) ++faults;
  if (abi::fabric_misconfigured(mask)) ++faults;
  out.values["fabric_faults"] = faults;
}

}  // namespace

Readings Library::health(const Gpu& gpu) const {
  Readings out;
  out.values["reachable"] = gpu.unreachable.empty() ? 1 : 0;
  if (!gpu.unreachable.empty()) return out;
  const Asker a(*table_, gpu);
  health_ecc(a, out);
  read_remapped_rows(a, out);
  // NVML API reference, changes between 560 and 565.
  if (!a.field(out, "recovery_action", abi::kFieldRecoveryAction, 1))
    out.unavailable["recovery_action"] =
        said("nvml.since", out.unavailable["recovery_action"], "565");
  health_clocks(a, out);
  read_temperatures(a, out);
  health_settings(a, out);
  health_use(a, out);
  health_links(a, out);
  health_fabric(a, out);
  return out;
}

}  // namespace cb::nvml
