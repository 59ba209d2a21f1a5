// Power, clocks, links, temperatures.
#include "tests/fake_nvml/script.h"

using namespace fake_nvml;

extern "C" {

// In watts.
abi::Return nvmlDeviceGetEnforcedPowerLimit(abi::Device device, unsigned* to) {
  ENTER();
  *to = static_cast<unsigned>(1000 * number("power_limit", gpu, 500));
  return abi::kSuccess;
}

abi::Return nvmlDeviceGetPowerManagementDefaultLimit(abi::Device device, unsigned* to) {
  ENTER();
  *to = 500000;
  return abi::kSuccess;
}

abi::Return nvmlDeviceGetCudaComputeCapability(abi::Device device, int* major, int* minor) {
  ENTER();
  *major = 9;
  *minor = 0;
  return abi::kSuccess;
}

abi::Return nvmlDeviceGetNumGpuCores(abi::Device device, unsigned* to) {
  ENTER();
  *to = 78 * 128;
  return abi::kSuccess;
}

abi::Return nvmlDeviceGetMemoryBusWidth(abi::Device device, unsigned* to) {
  ENTER();
  *to = 6144;
  return abi::kSuccess;
}

abi::Return nvmlDeviceGetMaxClockInfo(abi::Device device, abi::ClockType type, unsigned* to) {
  ENTER();
  *to = type == abi::kClockMemory ? 2619 : 1980;
  return abi::kSuccess;
}

// In hertz.
abi::Return nvmlDeviceGetClockInfo(abi::Device device, abi::ClockType type, unsigned* to) {
  ENTER();
  const char* key = type == abi::kClockMemory ? "memory_clock_hertz" : "clock_hertz";
  *to = static_cast<unsigned>(number(key, gpu, type == abi::kClockMemory ? 2619e6 : 1830e6) / 1e6);
  return abi::kSuccess;
}

abi::Return nvmlDeviceGetCurrPcieLinkGeneration(abi::Device device, unsigned* to) {
  ENTER();
  *to = static_cast<unsigned>(number("pcie_generation", gpu, 5));
  return abi::kSuccess;
}

abi::Return nvmlDeviceGetMaxPcieLinkGeneration(abi::Device device, unsigned* to) {
  ENTER();
  *to = static_cast<unsigned>(number("pcie_slot_generation", gpu, 5));
  return abi::kSuccess;
}

abi::Return nvmlDeviceGetGpuMaxPcieLinkGeneration(abi::Device device, unsigned* to) {
  ENTER();
  *to = 5;
  return abi::kSuccess;
}

abi::Return nvmlDeviceGetCurrPcieLinkWidth(abi::Device device, unsigned* to) {
  ENTER();
  *to = static_cast<unsigned>(number("pcie_lanes", gpu, 16));
  return abi::kSuccess;
}

abi::Return nvmlDeviceGetMaxPcieLinkWidth(abi::Device device, unsigned* to) {
  ENTER();
  *to = 16;
  return abi::kSuccess;
}

abi::Return nvmlDeviceGetPcieReplayCounter(abi::Device device, unsigned* to) {
  ENTER();
  *to = static_cast<unsigned>(grown("pcie_replays", gpu, 0));
  return abi::kSuccess;
}

abi::Return nvmlDeviceGetNvLinkState(abi::Device device, unsigned link, abi::EnableState* to) {
  ENTER();
  if (link >= 18) return abi::kInvalidArgument;
  static std::map<int, int> asked_of;
  double up = number("nvlinks_active", gpu, 18);
  if (++asked_of[gpu] > number("nvlink_down_after", gpu, 1e9))
    --up;  // after so many looks at links
  *to = link < up ? abi::kEnabled : abi::kDisabled;
  return abi::kSuccess;
}

abi::Return nvmlDeviceGetNvLinkErrorCounter(abi::Device device, unsigned link,
                                            abi::NvLinkErrorCounter counter,
                                            unsigned long long* to) {
  ENTER();
  if (link >= 18) return abi::kInvalidArgument;
  const bool first = link == 0 && counter == abi::kReplay;
  *to = first ? static_cast<unsigned long long>(number("nvlink_errors", gpu, 0)) : 0;
  return abi::kSuccess;
}

abi::Return nvmlDeviceGetNvLinkRemotePciInfo_v2(abi::Device device, unsigned link,
                                                abi::PciInfo* pci) {
  ENTER();
  if (link >= 18) return abi::kInvalidArgument;
  *pci = {};
  pci->bus = 0xc0 + link % 4;  // four NVSwitches
  return abi::kSuccess;
}

abi::Return nvmlDeviceGetTopologyCommonAncestor(abi::Device device, abi::Device other,
                                                abi::TopologyLevel* to) {
  ENTER();
  *to = gpu / 4 == index_of(other) / 4 ? abi::kNode : abi::kSystem;
  return abi::kSuccess;
}

abi::Return nvmlDeviceGetPowerUsage(abi::Device device, unsigned* to) {
  ENTER();
  *to = static_cast<unsigned>(1000 * number("watts", gpu, 75));
  return abi::kSuccess;
}

abi::Return nvmlDeviceGetTotalEnergyConsumption(abi::Device device, unsigned long long* to) {
  ENTER();
  *to = grown("energy_millijoules", gpu, 1e9);
  return abi::kSuccess;
}

abi::Return nvmlDeviceGetTemperature(abi::Device device, abi::TemperatureSensor, unsigned* to) {
  ENTER();
  *to = static_cast<unsigned>(number("temperature_celsius", gpu, 41));
  return abi::kSuccess;
}

abi::Return nvmlDeviceGetFieldValues(abi::Device device, int n, abi::FieldValue* values) {
  ENTER();
  for (int i = 0; i < n; ++i) {
    abi::FieldValue& v = values[i];
    v.result = abi::kSuccess;
    v.type = abi::kUnsigned;
    if (v.field == abi::kFieldMemoryTemperature) {
      v.value.as_unsigned = static_cast<unsigned>(number("memory_temperature_celsius", gpu, 52));
    } else if (v.field == abi::kFieldPowerInstant) {
      v.value.as_unsigned = static_cast<unsigned>(1000 * number("watts", gpu, 75));
    } else if (v.field == abi::kFieldRecoveryAction) {
      v.value.as_unsigned = static_cast<unsigned>(number("recovery_action", gpu, 0));
    } else if (v.field == abi::kFieldPowerPolicy || v.field == abi::kFieldThermalPolicy) {
      v.type = abi::kUnsignedLongLong;
      const bool power = v.field == abi::kFieldPowerPolicy;
      v.value.as_unsigned_long_long =
          grown(power ? "power_cap_nanoseconds" : "thermal_nanoseconds", gpu, 0);
    } else if (v.field == abi::kFieldLinkRecoveries && number("nvlink5", gpu, 0) != 0) {
      v.type = abi::kUnsignedLongLong;
      v.value.as_unsigned_long_long =
          v.scope == 3 ? static_cast<unsigned long long>(number("nvlink_errors", gpu, 0)) : 0;
    } else {
      v.result = abi::kNotSupported;
    }
  }
  return abi::kSuccess;
}

}  // extern "C"
