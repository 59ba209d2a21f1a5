// Errors, throttling, processes, events, fabric.
#include "tests/fake_nvml/script.h"

using namespace fake_nvml;

extern "C" {

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

}  // extern "C"
