// Power, clocks, links, temperatures.
#include "tests/fake_nvml/script.h"

using namespace fake_nvml;

extern "C" {

// In watts.
nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned* to) {
  ENTER();
  *to = static_cast<unsigned>(1000 * number("power_limit", gpu, 500));
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t device, unsigned* to) {
  ENTER();
  *to = 500000;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int* major, int* minor) {
  ENTER();
  *major = 9;
  *minor = 0;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNumGpuCores(nvmlDevice_t device, unsigned* to) {
  ENTER();
  *to = 78 * 128;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryBusWidth(nvmlDevice_t device, unsigned* to) {
  ENTER();
  *to = 6144;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned* to) {
  ENTER();
  *to = type == NVML_CLOCK_MEM ? 2619 : 1980;
  return NVML_SUCCESS;
}

// In hertz.
nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned* to) {
  ENTER();
  const char* key = type == NVML_CLOCK_MEM ? "memory_clock_hertz" : "clock_hertz";
  *to = static_cast<unsigned>(number(key, gpu, type == NVML_CLOCK_MEM ? 2619e6 : 1830e6) / 1e6);
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t device, unsigned* to) {
  ENTER();
  *to = static_cast<unsigned>(number("pcie_generation", gpu, 5));
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t device, unsigned* to) {
  ENTER();
  *to = static_cast<unsigned>(number("pcie_slot_generation", gpu, 5));
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuMaxPcieLinkGeneration(nvmlDevice_t device, unsigned* to) {
  ENTER();
  *to = 5;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t device, unsigned* to) {
  ENTER();
  *to = static_cast<unsigned>(number("pcie_lanes", gpu, 16));
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t device, unsigned* to) {
  ENTER();
  *to = 16;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPcieReplayCounter(nvmlDevice_t device, unsigned* to) {
  ENTER();
  *to = static_cast<unsigned>(grown("pcie_replays", gpu, 0));
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned link, nvmlEnableState_t* to) {
  ENTER();
  if (link >= 18) return NVML_ERROR_INVALID_ARGUMENT;
  *to = link < number("nvlinks_active", gpu, 18) ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNvLinkErrorCounter(nvmlDevice_t device, unsigned link,
                                             nvmlNvLinkErrorCounter_t counter,
                                             unsigned long long* to) {
  ENTER();
  const bool first = link == 0 && counter == NVML_NVLINK_ERROR_DL_REPLAY;
  *to = first ? static_cast<unsigned long long>(number("nvlink_errors", gpu, 0)) : 0;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned link,
                                                 nvmlPciInfo_t* pci) {
  ENTER();
  *pci = {};
  pci->bus = 0xc0 + link % 4;  // four NVSwitches
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t device, nvmlDevice_t other,
                                                 nvmlGpuTopologyLevel_t* to) {
  ENTER();
  *to = gpu / 4 == index_of(other) / 4 ? NVML_TOPOLOGY_NODE : NVML_TOPOLOGY_SYSTEM;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned* to) {
  ENTER();
  *to = static_cast<unsigned>(1000 * number("watts", gpu, 75));
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long* to) {
  ENTER();
  *to = grown("energy_millijoules", gpu, 1e9);
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t, unsigned* to) {
  ENTER();
  *to = static_cast<unsigned>(number("temperature_celsius", gpu, 41));
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int n, nvmlFieldValue_t* values) {
  ENTER();
  for (int i = 0; i < n; ++i) {
    nvmlFieldValue_t& v = values[i];
    v.nvmlReturn = NVML_SUCCESS;
    v.valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
    if (v.fieldId == NVML_FI_DEV_MEMORY_TEMP) {
      v.value.uiVal = static_cast<unsigned>(number("memory_temperature_celsius", gpu, 52));
    } else if (v.fieldId == NVML_FI_DEV_POWER_INSTANT) {
      v.value.uiVal = static_cast<unsigned>(1000 * number("watts", gpu, 75));
    } else if (v.fieldId == NVML_FI_DEV_GET_GPU_RECOVERY_ACTION) {
      v.value.uiVal = static_cast<unsigned>(number("recovery_action", gpu, 0));
    } else if (v.fieldId == NVML_FI_DEV_PERF_POLICY_POWER ||
               v.fieldId == NVML_FI_DEV_PERF_POLICY_THERMAL) {
      v.valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
      const bool power = v.fieldId == NVML_FI_DEV_PERF_POLICY_POWER;
      v.value.ullVal = grown(power ? "power_cap_nanoseconds" : "thermal_nanoseconds", gpu, 0);
    } else {
      v.nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
    }
  }
  return NVML_SUCCESS;
}

}  // extern "C"
