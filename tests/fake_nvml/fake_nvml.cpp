// A driver's management library whose GPUs behave as a script says. Eight healthy H20 unless
// CLUSTERBENCH_FAKE_NVML says otherwise, in words separated by spaces:
//   gpus=4                  that many                       init=fail       nvmlInit_v2 fails
//   KEY=VALUE, KEY@GPU=VALUE   a reading, of all GPUs or of one; the keys stand beside their use
//   fail@3=nvmlDeviceGetX   this call answers "unknown error"   refuse@3=…  … "not supported"
//   hang@3=nvmlDeviceGetX   this call never comes back      lost@3=1        the GPU is gone
// Built with CB_FAKE_OLD it lacks what a driver of 2021 lacks.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <string>

#include <nvml.h>
#include <unistd.h>

namespace {

using Script = std::map<std::string, std::string>;

const Script& script() {
  static const Script parsed = [] {
    Script out;
    const char* text = std::getenv("CLUSTERBENCH_FAKE_NVML");
    std::istringstream words(text == nullptr ? "" : text);
    for (std::string word; words >> word;) {
      const size_t equals = word.find('=');
      if (equals != std::string::npos) out[word.substr(0, equals)] = word.substr(equals + 1);
    }
    return out;
  }();
  return parsed;
}

const char* scripted(const std::string& key, int gpu) {
  auto found = script().find(key + "@" + std::to_string(gpu));
  if (found == script().end()) found = script().find(key);
  return found == script().end() ? nullptr : found->second.c_str();
}

double number(const char* key, int gpu, double healthy) {
  const char* text = scripted(key, gpu);
  return text == nullptr ? healthy : std::atof(text);
}

int count() { return static_cast<int>(number("gpus", -1, 8)); }

// Handles are 1-based indices.
int index_of(nvmlDevice_t device) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(device)) - 1;
}

bool named(const char* kind, int gpu, const char* function) {
  const char* text = scripted(kind, gpu);
  return text != nullptr && std::strcmp(text, function) == 0;
}

nvmlReturn_t enter(const char* function, int gpu) {
  if (named("hang", gpu, function)) {
    for (;;) ::sleep(1000);
  }
  if (named("fail", gpu, function)) return NVML_ERROR_UNKNOWN;
  if (named("refuse", gpu, function)) return NVML_ERROR_NOT_SUPPORTED;
  if (number("lost", gpu, 0) != 0) return NVML_ERROR_GPU_IS_LOST;
  return NVML_SUCCESS;
}

#define ENTER()                                                               \
  const int gpu = index_of(device);                                           \
  if (const nvmlReturn_t code = enter(__func__, gpu); code != NVML_SUCCESS) { \
    return code;                                                              \
  }

nvmlReturn_t put(char* to, unsigned length, const std::string& text) {
  std::snprintf(to, length, "%s", text.c_str());
  return NVML_SUCCESS;
}

// Reads grow with every look, as the real ones do.
unsigned long long grown(const char* key, int gpu, double healthy) {
  static std::map<std::string, double> looks;
  const double step = number((std::string(key) + "_step").c_str(), gpu, 0);
  const double at = looks[key + std::to_string(gpu)]++;
  return static_cast<unsigned long long>(number(key, gpu, healthy) + step * at);
}

}  // namespace

extern "C" {

nvmlReturn_t nvmlInit_v2() {
  const char* init = scripted("init", -1);
  if (init != nullptr && std::strcmp(init, "fail") == 0) return NVML_ERROR_DRIVER_NOT_LOADED;
  return enter("nvmlInit_v2", -1);
}

const char* nvmlErrorString(nvmlReturn_t code) {
  switch (code) {
    case NVML_ERROR_NOT_SUPPORTED:
      return "Not Supported";
    case NVML_ERROR_GPU_IS_LOST:
      return "GPU is lost";
    case NVML_ERROR_DRIVER_NOT_LOADED:
      return "Driver Not Loaded";
    case NVML_ERROR_CORRUPTED_INFOROM:
      return "infoROM is corrupted";
    case NVML_ERROR_INSUFFICIENT_SIZE:
      return "Insufficient Size";
    case NVML_ERROR_TIMEOUT:
      return "Timeout";
    default:
      return "Unknown Error";
  }
}

nvmlReturn_t nvmlSystemGetDriverVersion(char* to, unsigned length) {
  return put(to, length, "580.95.05");
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* to) {
  *to = static_cast<unsigned>(count());
  return enter("nvmlDeviceGetCount_v2", -1);
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device) {
  if (static_cast<int>(index) >= count()) return NVML_ERROR_INVALID_ARGUMENT;
  *device = reinterpret_cast<nvmlDevice_t>(static_cast<std::uintptr_t>(index) + 1);
  return enter("nvmlDeviceGetHandleByIndex_v2", static_cast<int>(index));
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* to, unsigned length) {
  ENTER();
  const char* name = scripted("name", gpu);
  std::string text = name == nullptr ? "NVIDIA_H20" : name;
  for (char& c : text) c = c == '_' ? ' ' : c;
  return put(to, length, text);
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* to, unsigned length) {
  ENTER();
  return put(to, length, "GPU-00000000-0000-0000-0000-00000000000" + std::to_string(gpu));
}

nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t device, char* to, unsigned length) {
  ENTER();
  return put(to, length, "165292400000" + std::to_string(gpu));
}

nvmlReturn_t nvmlDeviceGetVbiosVersion(nvmlDevice_t device, char* to, unsigned length) {
  ENTER();
  const char* text = scripted("vbios", gpu);
  return put(to, length, text == nullptr ? "96.00.A6.00.01" : text);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  ENTER();
  *pci = {};
  pci->bus = static_cast<unsigned>(0x1b + 0x10 * gpu);
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetModuleId(nvmlDevice_t device, unsigned* to) {
  ENTER();
  *to = static_cast<unsigned>(gpu + 1);
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* to) {
  ENTER();
  to->total = 102625181696ULL;
  to->used = static_cast<unsigned long long>(number("memory_used_bytes", gpu, 600e6));
  to->free = to->total - to->used;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, nvmlEnableState_t* now,
                                  nvmlEnableState_t* pending) {
  ENTER();
  *now = *pending = static_cast<nvmlEnableState_t>(number("ecc_enabled", gpu, 1));
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned* now, unsigned* pending) {
  ENTER();
  *now = *pending = static_cast<unsigned>(number("mig_mode", gpu, 0));
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t device, nvmlEnableState_t* to) {
  ENTER();
  *to = static_cast<nvmlEnableState_t>(number("persistence_mode", gpu, 1));
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, nvmlComputeMode_t* to) {
  ENTER();
  *to = static_cast<nvmlComputeMode_t>(number("compute_mode", gpu, 0));
  return NVML_SUCCESS;
}

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

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t type,
                                         nvmlEccCounterType_t counter, unsigned long long* to) {
  ENTER();
  const bool corrected = type == NVML_MEMORY_ERROR_TYPE_CORRECTED;
  const bool now = counter == NVML_VOLATILE_ECC;
  const char* key = corrected ? "ecc_corrected_volatile"
                    : now     ? "ecc_uncorrected_volatile"
                              : "ecc_uncorrected_aggregate";
  *to = grown(key, gpu, 0);
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t device, nvmlMemoryErrorType_t,
                                             nvmlEccCounterType_t, nvmlMemoryLocation_t,
                                             unsigned long long* to) {
  ENTER();
  *to = static_cast<unsigned long long>(number("sram_uncorrected_aggregate", gpu, 0));
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned* correctable,
                                       unsigned* uncorrectable, unsigned* pending,
                                       unsigned* failed) {
  ENTER();
  *correctable = static_cast<unsigned>(number("rows_remapped_correctable", gpu, 0));
  *uncorrectable = static_cast<unsigned>(number("rows_remapped_uncorrectable", gpu, 0));
  *pending = static_cast<unsigned>(number("row_remap_pending", gpu, 0));
  *failed = static_cast<unsigned>(number("row_remap_failed", gpu, 0));
  return NVML_SUCCESS;
}

// The name that drivers before 535 have.
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device,
                                                       unsigned long long* to) {
  ENTER();
  *to = static_cast<unsigned long long>(number("event_reasons", gpu, 1));
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* n,
                                                     nvmlProcessInfo_t*) {
  ENTER();
  *n = static_cast<unsigned>(number("processes", gpu, 0));
  return *n == 0 ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
}

nvmlReturn_t nvmlDeviceValidateInforom(nvmlDevice_t device) {
  ENTER();
  return number("inforom_valid", gpu, 1) != 0 ? NVML_SUCCESS : NVML_ERROR_CORRUPTED_INFOROM;
}

nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device, unsigned long long* to) {
  ENTER();
  *to = nvmlEventTypeXidCriticalError | nvmlEventTypeDoubleBitEccError;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long, nvmlEventSet_t) {
  ENTER();
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t* set) {
  *set = reinterpret_cast<nvmlEventSet_t>(std::uintptr_t{1});
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t) { return NVML_SUCCESS; }

// xid@GPU=N: that GPU reports it once.
nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t, nvmlEventData_t* data, unsigned) {
  static std::map<int, bool> told;
  for (int gpu = 0; gpu < count(); ++gpu) {
    const auto xid = static_cast<unsigned long long>(number("xid", gpu, 0));
    if (xid == 0 || told[gpu]) continue;
    told[gpu] = true;
    *data = {};
    data->device = reinterpret_cast<nvmlDevice_t>(static_cast<std::uintptr_t>(gpu) + 1);
    data->eventType = nvmlEventTypeXidCriticalError;
    data->eventData = xid;
    return NVML_SUCCESS;
  }
  return NVML_ERROR_TIMEOUT;
}

#ifndef CB_FAKE_OLD
nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, unsigned long long* to) {
  return nvmlDeviceGetCurrentClocksThrottleReasons(device, to);
}

nvmlReturn_t nvmlDeviceGetSramEccErrorStatus(nvmlDevice_t device, nvmlEccSramErrorStatus_t* to) {
  ENTER();
  if (to->version != nvmlEccSramErrorStatus_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  to->bThresholdExceeded = static_cast<unsigned>(number("sram_threshold_exceeded", gpu, 0));
  return NVML_SUCCESS;
}

// fabric_state as NVML_GPU_FABRIC_STATE_…, fabric_mask as its health mask.
nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfoV_t* to) {
  ENTER();
  if (to->version != nvmlGpuFabricInfo_v2) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  to->state = static_cast<nvmlGpuFabricState_t>(number("fabric_state", gpu, 3));
  to->status = NVML_SUCCESS;
  to->healthMask = static_cast<unsigned>(number("fabric_mask", gpu, 0));
  return NVML_SUCCESS;
}
#endif
}
