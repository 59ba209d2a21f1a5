// The part of NVIDIA's management library that this program calls. It is declared here because few
// CUDA toolkits and no distribution come with nvml.h. Layouts and values: NVML API Reference Guide
// and the header of nvidia-nvml-dev 13. They have not changed since driver 450, and newer functions
// state theirs in `version`. If there is a real header, tests/unit/sys/nvml_abi_test.cpp compares
// them. Fields whose numbers differ between NVML 12 and 13 are not here: for a wrong number the
// driver returns another counter.
#pragma once

#include <type_traits>

namespace cb::nvml::abi {

using Return = int;
constexpr Return kSuccess = 0, kInvalidArgument = 2, kNotSupported = 3, kInsufficientSize = 7,
                 kDriverNotLoaded = 9, kTimeout = 10, kCorruptedInforom = 14, kGpuIsLost = 15,
                 kVersionMismatch = 25, kUnknown = 999;

using Device = struct DeviceOpaque*;
using EventSet = struct EventSetOpaque*;

using EnableState = int;
constexpr EnableState kDisabled = 0, kEnabled = 1;
using ClockType = int;
constexpr ClockType kClockSm = 1, kClockMemory = 2;
using ComputeMode = int;
using TemperatureSensor = int;
constexpr TemperatureSensor kTemperatureGpu = 0;
using MemoryErrorType = int;
constexpr MemoryErrorType kCorrected = 0, kUncorrected = 1;
using EccCounterType = int;
constexpr EccCounterType kVolatile = 0, kAggregate = 1;
using MemoryLocation = int;
constexpr MemoryLocation kSram = 7;
using NvLinkErrorCounter = int;
constexpr NvLinkErrorCounter kReplay = 0, kRecovery = 1, kCrcFlit = 2;
constexpr unsigned kMaxNvLinks = 36;
using TopologyLevel = int;
constexpr TopologyLevel kInternal = 0, kSingle = 10, kMultiple = 20, kHostBridge = 30, kNode = 40,
                        kSystem = 50;
constexpr unsigned long long kDoubleBitEccError = 2, kXidCriticalError = 8;

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pci_device_id;
  unsigned pci_subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(PciInfo) == 68);

struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
static_assert(sizeof(Memory) == 24);

struct MemoryV2 {
  unsigned version;
  unsigned long long total;
  unsigned long long reserved;  // reserved by driver and firmware; `used` does not include it
  unsigned long long free;
  unsigned long long used;
};
static_assert(sizeof(MemoryV2) == 40);

// ---- fields ----
constexpr unsigned kFieldPowerPolicy = 74, kFieldThermalPolicy = 75, kFieldMemoryTemperature = 82,
                   kFieldPowerInstant = 186, kFieldRecoveryAction = 230;
// These are per link. On Blackwell they replace nvmlDeviceGetNvLinkErrorCounter.
constexpr unsigned kFieldLinkReceiveErrors = 208, kFieldLinkIntegrityErrors = 211,
                   kFieldLinkRecoveries = 215;
using ValueType = int;
constexpr ValueType kDouble = 0, kUnsigned = 1, kUnsignedLong = 2, kUnsignedLongLong = 3,
                    kSignedLongLong = 4, kSigned = 5;
union Value {
  double as_double;
  int as_int;
  unsigned as_unsigned;
  unsigned long as_unsigned_long;
  unsigned long long as_unsigned_long_long;
  long long as_long_long;
};
struct FieldValue {
  unsigned field;
  unsigned scope;
  long long timestamp;
  long long latency;
  ValueType type;
  Return result;
  Value value;
};
static_assert(sizeof(FieldValue) == 40);

// ---- structs that state their version: size and number in one ----
template <typename T>
constexpr unsigned version_of(unsigned number) {
  return static_cast<unsigned>(sizeof(T)) | number << 24;
}
struct SramEccErrors {
  unsigned version;
  unsigned long long counters[11];
  unsigned threshold_exceeded;
};
static_assert(sizeof(SramEccErrors) == 104);
constexpr unsigned kSramEccErrorsVersion = version_of<SramEccErrors>(1);

constexpr unsigned kMemoryV2Version = version_of<MemoryV2>(2);

struct FabricInfo {
  unsigned version;
  unsigned char cluster_uuid[16];
  Return status;
  unsigned clique;
  unsigned char state;
  unsigned health_mask;
};
static_assert(sizeof(FabricInfo) == 36);
constexpr unsigned kFabricInfoVersion = version_of<FabricInfo>(2);
constexpr unsigned char kFabricNotSupported = 0, kFabricCompleted = 3;
// Each fault has two bits in the mask: 0 unknown, 1 true, 2 false.
constexpr unsigned kFabricDegradedBandwidth = 0, kFabricRouteRecovery = 2,
                   kFabricRouteUnhealthy = 4, kFabricAccessTimeout = 6;
constexpr bool fabric_trouble(unsigned mask, unsigned shift) { return (mask >> shift & 3) == 1; }
// Four bits say how the fabric is configured: 0 unknown, 1 right, more: what is wrong (driver 570).
constexpr unsigned kFabricConfiguration = 8;
constexpr bool fabric_misconfigured(unsigned mask) {
  return (mask >> kFabricConfiguration & 0xf) > 1;
}
// Of drivers before 550, which have nvmlDeviceGetGpuFabricInfo only.
struct FabricInfoV1 {
  unsigned char cluster_uuid[16];
  Return status;
  unsigned clique;
  unsigned char state;
};
static_assert(sizeof(FabricInfoV1) == 28);

struct EventData {
  Device device;
  unsigned long long type;
  unsigned long long data;
  unsigned gpu_instance;
  unsigned compute_instance;
};
static_assert(sizeof(EventData) == 32);

struct ProcessInfo {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};
static_assert(sizeof(ProcessInfo) == 24);

struct Utilisation {
  unsigned gpu;     // percent of the last sixth to whole second with a kernel running
  unsigned memory;  // … with the device memory being read or written
};
static_assert(sizeof(Utilisation) == 8);

// ---- GPM: what the units of a GPU did between two samples; Hopper or newer, driver 525 or newer
using GpmSample = struct GpmSampleOpaque*;
constexpr unsigned kGpmSmUtil = 2, kGpmSmOccupancy = 3, kGpmInteger = 4, kGpmAnyTensor = 5,
                   kGpmDram = 10, kGpmFp64 = 11, kGpmFp32 = 12, kGpmFp16 = 13, kGpmPcieSent = 20,
                   kGpmPcieReceived = 21, kGpmNvlinkReceived = 60, kGpmNvlinkSent = 61;
struct GpmMetric {
  unsigned id;
  Return result;
  double value;  // valid only if result is kSuccess
  const char* names[3];
};
static_assert(sizeof(GpmMetric) == 40);
// The array was 98 long in NVML 12 and is 210 in NVML 13, in a struct of the same version: the
// library uses `count` of it.
struct GpmMetricsGet {
  unsigned version;
  unsigned count;
  GpmSample first, second;
  GpmMetric metrics[210];
};
constexpr unsigned kGpmMetricsGetVersion = 1;
struct GpmSupport {
  unsigned version;
  unsigned supported;
};
static_assert(sizeof(GpmSupport) == 8);
constexpr unsigned kGpmSupportVersion = 1;

// X(name, type): every function that is called.
#define CB_NVML_FUNCTIONS(X)                                                               \
  X(nvmlDeviceGetName, Return(Device, char*, unsigned))                                    \
  X(nvmlDeviceGetUUID, Return(Device, char*, unsigned))                                    \
  X(nvmlDeviceGetPciInfo_v3, Return(Device, PciInfo*))                                     \
  X(nvmlDeviceGetSerial, Return(Device, char*, unsigned))                                  \
  X(nvmlDeviceGetVbiosVersion, Return(Device, char*, unsigned))                            \
  X(nvmlDeviceGetBoardPartNumber, Return(Device, char*, unsigned))                         \
  X(nvmlDeviceGetModuleId, Return(Device, unsigned*))                                      \
  X(nvmlDeviceGetInforomImageVersion, Return(Device, char*, unsigned))                     \
  X(nvmlDeviceGetMemoryInfo, Return(Device, Memory*))                                      \
  X(nvmlDeviceGetMemoryInfo_v2, Return(Device, MemoryV2*))                                 \
  X(nvmlDeviceGetMemoryBusWidth, Return(Device, unsigned*))                                \
  X(nvmlDeviceGetEccMode, Return(Device, EnableState*, EnableState*))                      \
  X(nvmlDeviceGetMigMode, Return(Device, unsigned*, unsigned*))                            \
  X(nvmlDeviceGetPersistenceMode, Return(Device, EnableState*))                            \
  X(nvmlDeviceGetComputeMode, Return(Device, ComputeMode*))                                \
  X(nvmlDeviceGetEnforcedPowerLimit, Return(Device, unsigned*))                            \
  X(nvmlDeviceGetPowerManagementDefaultLimit, Return(Device, unsigned*))                   \
  X(nvmlDeviceGetCudaComputeCapability, Return(Device, int*, int*))                        \
  X(nvmlDeviceGetNumGpuCores, Return(Device, unsigned*))                                   \
  X(nvmlDeviceGetMaxClockInfo, Return(Device, ClockType, unsigned*))                       \
  X(nvmlDeviceGetClockInfo, Return(Device, ClockType, unsigned*))                          \
  X(nvmlDeviceGetCurrPcieLinkGeneration, Return(Device, unsigned*))                        \
  X(nvmlDeviceGetCurrPcieLinkWidth, Return(Device, unsigned*))                             \
  X(nvmlDeviceGetMaxPcieLinkGeneration, Return(Device, unsigned*))                         \
  X(nvmlDeviceGetMaxPcieLinkWidth, Return(Device, unsigned*))                              \
  X(nvmlDeviceGetGpuMaxPcieLinkGeneration, Return(Device, unsigned*))                      \
  X(nvmlDeviceGetPcieReplayCounter, Return(Device, unsigned*))                             \
  X(nvmlDeviceGetNvLinkState, Return(Device, unsigned, EnableState*))                      \
  X(nvmlDeviceGetNvLinkErrorCounter,                                                       \
    Return(Device, unsigned, NvLinkErrorCounter, unsigned long long*))                     \
  X(nvmlDeviceGetNvLinkRemotePciInfo_v2, Return(Device, unsigned, PciInfo*))               \
  X(nvmlDeviceGetTopologyCommonAncestor, Return(Device, Device, TopologyLevel*))           \
  X(nvmlDeviceGetGpuFabricInfo, Return(Device, FabricInfoV1*))                             \
  X(nvmlDeviceGetGpuFabricInfoV, Return(Device, FabricInfo*))                              \
  X(nvmlDeviceGetPowerUsage, Return(Device, unsigned*))                                    \
  X(nvmlDeviceGetTotalEnergyConsumption, Return(Device, unsigned long long*))              \
  X(nvmlDeviceGetTemperature, Return(Device, TemperatureSensor, unsigned*))                \
  X(nvmlDeviceGetFieldValues, Return(Device, int, FieldValue*))                            \
  X(nvmlDeviceGetTotalEccErrors,                                                           \
    Return(Device, MemoryErrorType, EccCounterType, unsigned long long*))                  \
  X(nvmlDeviceGetMemoryErrorCounter,                                                       \
    Return(Device, MemoryErrorType, EccCounterType, MemoryLocation, unsigned long long*))  \
  X(nvmlDeviceGetSramEccErrorStatus, Return(Device, SramEccErrors*))                       \
  X(nvmlDeviceGetRemappedRows, Return(Device, unsigned*, unsigned*, unsigned*, unsigned*)) \
  X(nvmlDeviceGetCurrentClocksEventReasons, Return(Device, unsigned long long*))           \
  X(nvmlDeviceGetCurrentClocksThrottleReasons, Return(Device, unsigned long long*))        \
  X(nvmlDeviceGetComputeRunningProcesses_v3, Return(Device, unsigned*, ProcessInfo*))      \
  X(nvmlDeviceValidateInforom, Return(Device))                                             \
  X(nvmlDeviceGetUtilizationRates, Return(Device, Utilisation*))                           \
  X(nvmlGpmQueryDeviceSupport, Return(Device, GpmSupport*))                                \
  X(nvmlGpmSampleAlloc, Return(GpmSample*))                                                \
  X(nvmlGpmSampleFree, Return(GpmSample))                                                  \
  X(nvmlGpmSampleGet, Return(Device, GpmSample))                                           \
  X(nvmlGpmMetricsGet, Return(GpmMetricsGet*))                                             \
  X(nvmlDeviceRegisterEvents, Return(Device, unsigned long long, EventSet))                \
  X(nvmlDeviceGetSupportedEventTypes, Return(Device, unsigned long long*))                 \
  X(nvmlEventSetCreate, Return(EventSet*))                                                 \
  X(nvmlEventSetWait_v2, Return(EventSet, EventData*, unsigned))                           \
  X(nvmlEventSetFree, Return(EventSet))                                                    \
  X(nvmlSystemGetDriverVersion, Return(char*, unsigned))                                   \
  X(nvmlErrorString, const char*(Return))                                                  \
  X(nvmlInit_v2, Return())                                                                 \
  X(nvmlDeviceGetCount_v2, Return(unsigned*))                                              \
  X(nvmlDeviceGetHandleByIndex_v2, Return(unsigned, Device*))

// Any of them may be null: the driver is older than the function.
struct Functions {
#define CB_NVML_MEMBER(name, ...) std::type_identity_t<__VA_ARGS__>* name = nullptr;
  CB_NVML_FUNCTIONS(CB_NVML_MEMBER)
#undef CB_NVML_MEMBER
};

}  // namespace cb::nvml::abi
