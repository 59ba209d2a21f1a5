// A driver's management library whose GPUs behave as a script says. Eight healthy H20 unless
// CLUSTERBENCH_FAKE_NVML says otherwise, in words separated by spaces:
//   gpus=4                  that many                       init=fail       nvmlInit_v2 fails
//   KEY=VALUE, KEY@GPU=VALUE   a reading, of all GPUs or of one; the keys stand beside their use
//   fail@3=nvmlDeviceGetX   this call answers "unknown error"   refuse@3=…  … "not supported"
//   hang@3=nvmlDeviceGetX   this call never comes back      lost@3=1        the GPU is gone
//   call_cost=3e-4          seconds that each call takes, as with a GPU's firmware between
// Built with CB_FAKE_OLD it lacks what a driver of 2021 lacks.
#include "tests/fake_nvml/script.h"

using namespace fake_nvml;

extern "C" {

abi::Return nvmlInit_v2() {
  const char* init = scripted("init", -1);
  if (init != nullptr && std::strcmp(init, "fail") == 0) return abi::kDriverNotLoaded;
  return enter("nvmlInit_v2", -1);
}

const char* nvmlErrorString(abi::Return code) {
  switch (code) {
    case abi::kNotSupported:
      return "Not Supported";
    case abi::kInvalidArgument:
      return "Invalid Argument";
    case abi::kGpuIsLost:
      return "GPU is lost";
    case abi::kDriverNotLoaded:
      return "Driver Not Loaded";
    case abi::kCorruptedInforom:
      return "infoROM is corrupted";
    case abi::kInsufficientSize:
      return "Insufficient Size";
    case abi::kTimeout:
      return "Timeout";
    default:
      return "Unknown Error";
  }
}

abi::Return nvmlSystemGetDriverVersion(char* to, unsigned length) {
  return put(to, length, "580.95.05");
}

abi::Return nvmlDeviceGetCount_v2(unsigned* to) {
  *to = static_cast<unsigned>(count());
  return enter("nvmlDeviceGetCount_v2", -1);
}

abi::Return nvmlDeviceGetHandleByIndex_v2(unsigned index, abi::Device* device) {
  if (static_cast<int>(index) >= count()) return abi::kInvalidArgument;
  *device = reinterpret_cast<abi::Device>(static_cast<std::uintptr_t>(index) + 1);
  return enter("nvmlDeviceGetHandleByIndex_v2", static_cast<int>(index));
}

abi::Return nvmlDeviceGetName(abi::Device device, char* to, unsigned length) {
  ENTER();
  const char* name = scripted("name", gpu);
  std::string text = name == nullptr ? "NVIDIA_H20" : name;
  for (char& c : text) c = c == '_' ? ' ' : c;
  return put(to, length, text);
}

abi::Return nvmlDeviceGetUUID(abi::Device device, char* to, unsigned length) {
  ENTER();
  // host=N: the first byte of each UUID, up to 9.
  const int host = static_cast<int>(number("host", -1, 0));
  return put(
      to, length,
      "GPU-0" + std::to_string(host) + "000000-0000-0000-0000-00000000000" + std::to_string(gpu));
}

abi::Return nvmlDeviceGetSerial(abi::Device device, char* to, unsigned length) {
  ENTER();
  return put(to, length, "165292400000" + std::to_string(gpu));
}

abi::Return nvmlDeviceGetVbiosVersion(abi::Device device, char* to, unsigned length) {
  ENTER();
  const char* text = scripted("vbios", gpu);
  return put(to, length, text == nullptr ? "96.00.A6.00.01" : text);
}

abi::Return nvmlDeviceGetPciInfo_v3(abi::Device device, abi::PciInfo* pci) {
  ENTER();
  *pci = {};
  pci->bus = static_cast<unsigned>(0x1b + 0x10 * gpu);
  return abi::kSuccess;
}

abi::Return nvmlDeviceGetModuleId(abi::Device device, unsigned* to) {
  ENTER();
  *to = static_cast<unsigned>(gpu + 1);
  return abi::kSuccess;
}

abi::Return nvmlDeviceGetMemoryInfo(abi::Device device, abi::Memory* to) {
  ENTER();
  to->total = static_cast<unsigned long long>(number("memory_total_bytes", gpu, 102625181696.0));
  to->used = static_cast<unsigned long long>(number("memory_used_bytes", gpu, 600e6));
  to->free = to->total - to->used;
  return abi::kSuccess;
}

#ifndef CB_FAKE_OLD
// Of memory_used_bytes the driver holds `memory_reserved_bytes`, which v1 counts as used.
abi::Return nvmlDeviceGetMemoryInfo_v2(abi::Device device, abi::MemoryV2* to) {
  ENTER();
  if (to->version != abi::kMemoryV2Version) return abi::kVersionMismatch;
  abi::Memory all{};
  nvmlDeviceGetMemoryInfo(device, &all);
  to->total = all.total;
  to->reserved = static_cast<unsigned long long>(number("memory_reserved_bytes", gpu, 0));
  to->used = all.used - to->reserved;
  to->free = all.free;
  return abi::kSuccess;
}
#endif

// How often the calling thread has asked, of all GPUs: only for the tests.
unsigned long long fake_nvml_calls() { return fake_nvml::asked; }
// And how often all threads have.
unsigned long long fake_nvml_calls_of_all() { return fake_nvml::asked_by_all; }

abi::Return nvmlDeviceGetEccMode(abi::Device device, abi::EnableState* now,
                                 abi::EnableState* pending) {
  ENTER();
  *now = *pending = static_cast<abi::EnableState>(number("ecc_enabled", gpu, 1));
  return abi::kSuccess;
}

abi::Return nvmlDeviceGetMigMode(abi::Device device, unsigned* now, unsigned* pending) {
  ENTER();
  *now = *pending = static_cast<unsigned>(number("mig_mode", gpu, 0));
  return abi::kSuccess;
}

abi::Return nvmlDeviceGetPersistenceMode(abi::Device device, abi::EnableState* to) {
  ENTER();
  *to = static_cast<abi::EnableState>(number("persistence_mode", gpu, 1));
  return abi::kSuccess;
}

abi::Return nvmlDeviceGetComputeMode(abi::Device device, abi::ComputeMode* to) {
  ENTER();
  *to = static_cast<abi::ComputeMode>(number("compute_mode", gpu, 0));
  return abi::kSuccess;
}

}  // extern "C"
