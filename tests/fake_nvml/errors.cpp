// Errors, throttling, processes, events, fabric.
#include <algorithm>
#include <iterator>

#include "tests/fake_nvml/script.h"

using namespace fake_nvml;

namespace {

// xid_file=PATH: while the file is there, with a GPU and an Xid in it, that GPU reports it, once
// for each time that the file appears.
bool xid_of_file(int& gpu, unsigned long long& xid) {
  static bool told = false;
  const auto path = script().find("xid_file");
  std::FILE* file = path == script().end() ? nullptr : std::fopen(path->second.c_str(), "re");
  if (file == nullptr) {
    told = false;
    return false;
  }
  const bool whole = std::fscanf(file, "%d %llu", &gpu, &xid) == 2;
  std::fclose(file);
  if (!whole || told) return false;
  told = true;
  return true;
}

}  // namespace

extern "C" {

abi::Return nvmlDeviceGetTotalEccErrors(abi::Device device, abi::MemoryErrorType type,
                                        abi::EccCounterType counter, unsigned long long* to) {
  ENTER();
  const bool corrected = type == abi::kCorrected;
  const bool now = counter == abi::kVolatile;
  const char* key = corrected ? "ecc_corrected_volatile"
                    : now     ? "ecc_uncorrected_volatile"
                              : "ecc_uncorrected_aggregate";
  *to = grown(key, gpu, 0);
  return abi::kSuccess;
}

abi::Return nvmlDeviceGetMemoryErrorCounter(abi::Device device, abi::MemoryErrorType,
                                            abi::EccCounterType, abi::MemoryLocation,
                                            unsigned long long* to) {
  ENTER();
  *to = static_cast<unsigned long long>(number("sram_uncorrected_aggregate", gpu, 0));
  return abi::kSuccess;
}

abi::Return nvmlDeviceGetRemappedRows(abi::Device device, unsigned* correctable,
                                      unsigned* uncorrectable, unsigned* pending,
                                      unsigned* failed) {
  ENTER();
  *correctable = static_cast<unsigned>(number("rows_remapped_correctable", gpu, 0));
  *uncorrectable = static_cast<unsigned>(number("rows_remapped_uncorrectable", gpu, 0));
  *pending = static_cast<unsigned>(number("row_remap_pending", gpu, 0));
  *failed = static_cast<unsigned>(number("row_remap_failed", gpu, 0));
  return abi::kSuccess;
}

// The name that drivers before 535 have.
abi::Return nvmlDeviceGetCurrentClocksThrottleReasons(abi::Device device, unsigned long long* to) {
  ENTER();
  *to = static_cast<unsigned long long>(number("event_reasons", gpu, 1));
  return abi::kSuccess;
}

abi::Return nvmlDeviceValidateInforom(abi::Device device) {
  ENTER();
  return number("inforom_valid", gpu, 1) != 0 ? abi::kSuccess : abi::kCorruptedInforom;
}

abi::Return nvmlDeviceGetSupportedEventTypes(abi::Device device, unsigned long long* to) {
  ENTER();
  *to = abi::kXidCriticalError | abi::kDoubleBitEccError;
  return abi::kSuccess;
}

abi::Return nvmlDeviceRegisterEvents(abi::Device device, unsigned long long, abi::EventSet) {
  ENTER();
  return abi::kSuccess;
}

abi::Return nvmlEventSetCreate(abi::EventSet* set) {
  *set = reinterpret_cast<abi::EventSet>(std::uintptr_t{1});
  return abi::kSuccess;
}

abi::Return nvmlEventSetFree(abi::EventSet) { return abi::kSuccess; }

// xid@GPU=N: that GPU reports it once.
abi::Return nvmlEventSetWait_v2(abi::EventSet, abi::EventData* data, unsigned) {
  static std::map<int, bool> told;
  int filed = 0;
  unsigned long long number_in_file = 0;
  if (xid_of_file(filed, number_in_file)) {
    *data = {};
    data->device = reinterpret_cast<abi::Device>(static_cast<std::uintptr_t>(filed) + 1);
    data->type = abi::kXidCriticalError;
    data->data = number_in_file;
    return abi::kSuccess;
  }
  for (int gpu = 0; gpu < count(); ++gpu) {
    const auto xid = static_cast<unsigned long long>(number("xid", gpu, 0));
    if (xid == 0 || told[gpu]) continue;
    told[gpu] = true;
    *data = {};
    data->device = reinterpret_cast<abi::Device>(static_cast<std::uintptr_t>(gpu) + 1);
    data->type = abi::kXidCriticalError;
    data->data = xid;
    return abi::kSuccess;
  }
  return abi::kTimeout;
}

// The older call, which drivers of 525 to 545 have alone: the old library has it with fabric_v1=1.
abi::Return nvmlDeviceGetGpuFabricInfo(abi::Device device, abi::FabricInfoV1* to) {
  ENTER();
#ifdef CB_FAKE_OLD
  if (number("fabric_v1", gpu, 0) == 0) return abi::kNotSupported;
#endif
  *to = {};
  to->state = static_cast<unsigned char>(number("fabric_state", gpu, 3));
  to->status = abi::kSuccess;
  std::fill(std::begin(to->cluster_uuid), std::end(to->cluster_uuid),
            static_cast<unsigned char>(number("fabric_uuid", gpu, 0)));
  to->clique = static_cast<unsigned>(number("fabric_clique", gpu, 0));
  return abi::kSuccess;
}

#ifndef CB_FAKE_OLD
abi::Return nvmlDeviceGetCurrentClocksEventReasons(abi::Device device, unsigned long long* to) {
  return nvmlDeviceGetCurrentClocksThrottleReasons(device, to);
}

abi::Return nvmlDeviceGetSramEccErrorStatus(abi::Device device, abi::SramEccErrors* to) {
  ENTER();
  if (to->version != abi::kSramEccErrorsVersion) return abi::kVersionMismatch;
  to->threshold_exceeded = static_cast<unsigned>(number("sram_threshold_exceeded", gpu, 0));
  return abi::kSuccess;
}

// fabric_state as abi.h numbers it, fabric_mask as its health mask.
abi::Return nvmlDeviceGetGpuFabricInfoV(abi::Device device, abi::FabricInfo* to) {
  ENTER();
  if (to->version != abi::kFabricInfoVersion) return abi::kVersionMismatch;
  to->state = static_cast<unsigned char>(number("fabric_state", gpu, 3));
  to->status = abi::kSuccess;
  // fabric_uuid=N: every byte of the cluster's UUID; fabric_clique=N.
  std::fill(std::begin(to->cluster_uuid), std::end(to->cluster_uuid),
            static_cast<unsigned char>(number("fabric_uuid", gpu, 0)));
  to->clique = static_cast<unsigned>(number("fabric_clique", gpu, 0));
  to->health_mask = static_cast<unsigned>(number("fabric_mask", gpu, 0));
  return abi::kSuccess;
}
#endif

}  // extern "C"
