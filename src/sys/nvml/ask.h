// What the files of src/sys/nvml/ share: NVML's functions, typed by nvml.h, and asking them for one
// GPU. Numbers of fields (NVML_FI_…) that differ between NVML 12 and 13 are not used: asked by a
// wrong number, the driver answers with another counter.
#pragma once

#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nvml.h>

#include "core/error.h"
#include "sys/nvml.h"

// decltype of functions that older drivers have and NVML 13 calls deprecated
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace cb::nvml {

#define CB_NVML_FUNCTIONS(X)                   \
  X(nvmlDeviceGetName)                         \
  X(nvmlDeviceGetUUID)                         \
  X(nvmlDeviceGetPciInfo_v3)                   \
  X(nvmlDeviceGetSerial)                       \
  X(nvmlDeviceGetVbiosVersion)                 \
  X(nvmlDeviceGetBoardPartNumber)              \
  X(nvmlDeviceGetModuleId)                     \
  X(nvmlDeviceGetInforomImageVersion)          \
  X(nvmlDeviceGetMemoryInfo)                   \
  X(nvmlDeviceGetMemoryBusWidth)               \
  X(nvmlDeviceGetEccMode)                      \
  X(nvmlDeviceGetMigMode)                      \
  X(nvmlDeviceGetPersistenceMode)              \
  X(nvmlDeviceGetComputeMode)                  \
  X(nvmlDeviceGetEnforcedPowerLimit)           \
  X(nvmlDeviceGetPowerManagementDefaultLimit)  \
  X(nvmlDeviceGetCudaComputeCapability)        \
  X(nvmlDeviceGetNumGpuCores)                  \
  X(nvmlDeviceGetMaxClockInfo)                 \
  X(nvmlDeviceGetClockInfo)                    \
  X(nvmlDeviceGetCurrPcieLinkGeneration)       \
  X(nvmlDeviceGetCurrPcieLinkWidth)            \
  X(nvmlDeviceGetMaxPcieLinkGeneration)        \
  X(nvmlDeviceGetMaxPcieLinkWidth)             \
  X(nvmlDeviceGetGpuMaxPcieLinkGeneration)     \
  X(nvmlDeviceGetPcieReplayCounter)            \
  X(nvmlDeviceGetNvLinkState)                  \
  X(nvmlDeviceGetNvLinkErrorCounter)           \
  X(nvmlDeviceGetNvLinkRemotePciInfo_v2)       \
  X(nvmlDeviceGetTopologyCommonAncestor)       \
  X(nvmlDeviceGetGpuFabricInfoV)               \
  X(nvmlDeviceGetPowerUsage)                   \
  X(nvmlDeviceGetTotalEnergyConsumption)       \
  X(nvmlDeviceGetTemperature)                  \
  X(nvmlDeviceGetFieldValues)                  \
  X(nvmlDeviceGetTotalEccErrors)               \
  X(nvmlDeviceGetMemoryErrorCounter)           \
  X(nvmlDeviceGetSramEccErrorStatus)           \
  X(nvmlDeviceGetRemappedRows)                 \
  X(nvmlDeviceGetCurrentClocksEventReasons)    \
  X(nvmlDeviceGetCurrentClocksThrottleReasons) \
  X(nvmlDeviceGetComputeRunningProcesses_v3)   \
  X(nvmlDeviceValidateInforom)                 \
  X(nvmlDeviceRegisterEvents)                  \
  X(nvmlDeviceGetSupportedEventTypes)          \
  X(nvmlEventSetCreate)                        \
  X(nvmlEventSetWait_v2)                       \
  X(nvmlEventSetFree)                          \
  X(nvmlSystemGetDriverVersion)                \
  X(nvmlSystemGetNVMLVersion)                  \
  X(nvmlErrorString)

// Any of them may be null: a driver older than the function.
struct Table {
#define CB_NVML_MEMBER(name) decltype(::name)* name = nullptr;
  CB_NVML_FUNCTIONS(CB_NVML_MEMBER)
#undef CB_NVML_MEMBER
  decltype(::nvmlInit_v2)* init = nullptr;
  decltype(::nvmlDeviceGetCount_v2)* count = nullptr;
  decltype(::nvmlDeviceGetHandleByIndex_v2)* by_index = nullptr;
};

std::string error_text(const Table& table, nvmlReturn_t code);

// What last_call() says next.
void note_call(const char* name, int gpu);

// Calls one function for one GPU; empty if it succeeded, else why not.
template <typename F, typename... Args>
std::string call(const Table& t, int gpu, const char* name, F* function, Args... args) {
  if (function == nullptr) return fmt::format("this driver's NVML has no {}", name);
  note_call(name, gpu);
  const nvmlReturn_t code = function(args...);
  if (code == NVML_SUCCESS) return "";
  return fmt::format("{}: {}", name, error_text(t, code));
}

// One GPU's calls, filling readings or attributes.
class Asker {
 public:
  Asker(const Table& table, const Gpu& gpu)
      : t_(table), gpu_(gpu), device_(static_cast<nvmlDevice_t>(gpu.handle)) {}

  template <typename F, typename... Args>
  std::string ask(const char* name, F* function, Args... args) const {
    return call(t_, static_cast<int>(gpu_.index), name, function, device_, args...);
  }

  // A number of type T behind the function's last parameter; `before` are those in front of it.
  template <typename T, typename F, typename... Before>
  std::optional<double> number(Readings& out, const char* key, const char* name, F* function,
                               double scale, Before... before) const {
    T value{};
    const std::string why = ask(name, function, before..., &value);
    if (!why.empty()) {
      out.unavailable[key] = why;
      return std::nullopt;
    }
    return out.values[key] = static_cast<double>(value) * scale;
  }

  // A field value; see the comment above on which may be asked.
  std::optional<double> field(Readings& out, const char* key, unsigned id, double scale) const {
    nvmlFieldValue_t field{};
    field.fieldId = id;
    std::string why = ask("nvmlDeviceGetFieldValues", t_.nvmlDeviceGetFieldValues, 1, &field);
    if (why.empty() && field.nvmlReturn != NVML_SUCCESS)
      why = fmt::format("field {}: {}", id, error_text(t_, field.nvmlReturn));
    const auto value = why.empty() ? field_number(field) : std::nullopt;
    if (!value) {
      out.unavailable[key] = why.empty() ? fmt::format("field {} has an unknown type", id) : why;
      return std::nullopt;
    }
    return out.values[key] = *value * scale;
  }

  template <typename F>
  void text(Part& part, const char* key, const char* name, F* function) const {
    std::array<char, 96> buffer{};
    const std::string why =
        ask(name, function, buffer.data(), static_cast<unsigned>(buffer.size() - 1));
    if (!why.empty())
      part.unavailable[key] = why;
    else if (buffer[0] != '\0')
      part.attributes[key] = std::string(buffer.data());
  }

  template <typename F, typename... Before>
  void integer(Part& part, const char* key, const char* name, F* function, double scale,
               Before... before) const {
    Readings one;
    if (const auto value = number<unsigned>(one, key, name, function, scale, before...))
      part.attributes[key] = static_cast<int64_t>(*value);
    else
      part.unavailable[key] = one.unavailable[key];
  }

  template <typename F>
  void flag(Part& part, const char* key, const char* name, F* function) const {
    nvmlEnableState_t state{};
    const std::string why = ask(name, function, &state);
    if (why.empty())
      part.attributes[key] = state == NVML_FEATURE_ENABLED;
    else
      part.unavailable[key] = why;
  }

  const Table& table() const { return t_; }

 private:
  static std::optional<double> field_number(const nvmlFieldValue_t& field) {
    switch (field.valueType) {
      case NVML_VALUE_TYPE_DOUBLE:
        return field.value.dVal;
      case NVML_VALUE_TYPE_UNSIGNED_INT:
        return field.value.uiVal;
      case NVML_VALUE_TYPE_UNSIGNED_LONG:
        return static_cast<double>(field.value.ulVal);
      case NVML_VALUE_TYPE_UNSIGNED_LONG_LONG:
        return static_cast<double>(field.value.ullVal);
      case NVML_VALUE_TYPE_SIGNED_LONG_LONG:
        return static_cast<double>(field.value.sllVal);
      case NVML_VALUE_TYPE_SIGNED_INT:
        return field.value.siVal;
      default:
        return std::nullopt;
    }
  }

  const Table& t_;
  const Gpu& gpu_;
  nvmlDevice_t device_;
};

// As sysfs writes it: four digits of domain, lower case.
std::string pci_text(const nvmlPciInfo_t& pci);

// Links that are up; nothing, and why, if the GPU has none at all or does not tell.
std::optional<int64_t> active_nvlinks(const Asker& a, std::string& why);

// Readings that more than one of the calls of Library returns.
void read_remapped_rows(const Asker& a, Readings& out);
void read_temperatures(const Asker& a, Readings& out);
void read_nvlink_errors(const Asker& a, Readings& out);
std::optional<uint64_t> read_event_reasons(const Asker& a, std::string& why);

}  // namespace cb::nvml
