// A driver's management library whose GPUs behave as a script says. Eight healthy H20 unless
// CLUSTERBENCH_FAKE_NVML says otherwise, in words separated by spaces:
//   gpus=4                  that many                       init=fail       nvmlInit_v2 fails
//   KEY=VALUE, KEY@GPU=VALUE   a reading, of all GPUs or of one; the keys stand beside their use
//   fail@3=nvmlDeviceGetX   this call answers "unknown error"   refuse@3=…  … "not supported"
//   hang@3=nvmlDeviceGetX   this call never comes back      lost@3=1        the GPU is gone
// Built with CB_FAKE_OLD it lacks what a driver of 2021 lacks.
#include "tests/fake_nvml/script.h"

using namespace fake_nvml;

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

}  // extern "C"
