#include "sys/gpu/nvml/abi.h"

#include <cstddef>
#include <type_traits>

#include <doctest/doctest.h>

using namespace cb;

TEST_CASE("a struct of NVML says its size and its number") {
  CHECK(nvml::abi::kSramEccErrorsVersion == 0x01000068);
  CHECK(nvml::abi::kFabricInfoVersion == 0x02000024);
}

TEST_CASE("troubles of the fabric are two bits each, and only 1 is trouble") {
  CHECK(nvml::abi::fabric_trouble(0b01, nvml::abi::kFabricDegradedBandwidth));
  CHECK_FALSE(nvml::abi::fabric_trouble(0b10, nvml::abi::kFabricDegradedBandwidth));
  CHECK_FALSE(nvml::abi::fabric_trouble(0b00, nvml::abi::kFabricDegradedBandwidth));
  CHECK(nvml::abi::fabric_trouble(0b01000000, nvml::abi::kFabricAccessTimeout));
  CHECK_FALSE(nvml::abi::fabric_trouble(0b01000000, nvml::abi::kFabricRouteUnhealthy));
  // nvml.h 13: 0 not supported, 1 none, 2 a wrong system GUID, 5 too few NVLinks.
  CHECK_FALSE(nvml::abi::fabric_misconfigured(0x000));
  CHECK_FALSE(nvml::abi::fabric_misconfigured(0x1aa));
  CHECK(nvml::abi::fabric_misconfigured(0x2aa));
  CHECK(nvml::abi::fabric_misconfigured(0x500));
}

#if __has_include(<nvml.h>)
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include <nvml.h>

namespace {

// Pointers to what both know have pointees of one size; else the parameters themselves have.
template <typename Ours, typename Theirs>
constexpr bool alike() {
  using A = std::remove_pointer_t<Ours>;
  using B = std::remove_pointer_t<Theirs>;
  if constexpr (std::is_pointer_v<Ours> != std::is_pointer_v<Theirs>) return false;
  if constexpr (std::is_pointer_v<Ours> && !requires { sizeof(A); }) return true;
  // A struct that says its version may have grown since the one that we ask for.
  if constexpr (requires { &A::version; }) return sizeof(A) <= sizeof(B);
  if constexpr (requires { sizeof(A) == sizeof(B); }) return sizeof(A) == sizeof(B);
  return sizeof(Ours) == sizeof(Theirs);
}

template <typename Ours, typename Theirs>
struct SameCall : std::false_type {};
template <typename R, typename... A, typename S, typename... B>
requires(sizeof...(A) == sizeof...(B)) struct SameCall<R (*)(A...), S (*)(B...)>
    : std::bool_constant<alike<R, S>() && (... && alike<A, B>())> {
};

}  // namespace

TEST_CASE("every function of NVML has the parameters of NVIDIA's header") {
#define CB_NVML_SAME(name, ...) \
  CHECK_MESSAGE((SameCall<decltype(nvml::abi::Functions::name), decltype(&::name)>::value), #name);
  CB_NVML_FUNCTIONS(CB_NVML_SAME)
#undef CB_NVML_SAME
}

TEST_CASE("layouts of NVML are those of NVIDIA's header") {
#define CB_SAME_SIZE(ours, theirs) CHECK(sizeof(nvml::abi::ours) == sizeof(::theirs))
#define CB_SAME_PLACE(ours, our_member, theirs, their_member) \
  CHECK(offsetof(nvml::abi::ours, our_member) == offsetof(::theirs, their_member))
  CB_SAME_SIZE(PciInfo, nvmlPciInfo_t);
  CB_SAME_PLACE(PciInfo, domain, nvmlPciInfo_t, domain);
  CB_SAME_PLACE(PciInfo, bus, nvmlPciInfo_t, bus);
  CB_SAME_PLACE(PciInfo, device, nvmlPciInfo_t, device);
  CB_SAME_SIZE(Memory, nvmlMemory_t);
  CB_SAME_PLACE(Memory, total, nvmlMemory_t, total);
  CB_SAME_PLACE(Memory, used, nvmlMemory_t, used);
  CB_SAME_SIZE(FieldValue, nvmlFieldValue_t);
  CB_SAME_PLACE(FieldValue, field, nvmlFieldValue_t, fieldId);
  CB_SAME_PLACE(FieldValue, type, nvmlFieldValue_t, valueType);
  CB_SAME_PLACE(FieldValue, result, nvmlFieldValue_t, nvmlReturn);
  CB_SAME_PLACE(FieldValue, value, nvmlFieldValue_t, value);
  CB_SAME_SIZE(ProcessInfo, nvmlProcessInfo_t);
  CB_SAME_PLACE(ProcessInfo, pid, nvmlProcessInfo_t, pid);
  CB_SAME_SIZE(Utilisation, nvmlUtilization_t);
  CB_SAME_SIZE(GpmMetric, nvmlGpmMetric_t);
  CB_SAME_PLACE(GpmMetric, result, nvmlGpmMetric_t, nvmlReturn);
  CB_SAME_PLACE(GpmMetric, value, nvmlGpmMetric_t, value);
  CB_SAME_PLACE(GpmMetricsGet, first, nvmlGpmMetricsGet_t, sample1);
  CB_SAME_PLACE(GpmMetricsGet, metrics, nvmlGpmMetricsGet_t, metrics);
  CB_SAME_SIZE(GpmSupport, nvmlGpmSupport_t);
  CHECK(nvml::abi::kGpmSmUtil == NVML_GPM_METRIC_SM_UTIL);
  CHECK(nvml::abi::kGpmSmOccupancy == NVML_GPM_METRIC_SM_OCCUPANCY);
  CHECK(nvml::abi::kGpmInteger == NVML_GPM_METRIC_INTEGER_UTIL);
  CHECK(nvml::abi::kGpmAnyTensor == NVML_GPM_METRIC_ANY_TENSOR_UTIL);
  CHECK(nvml::abi::kGpmDram == NVML_GPM_METRIC_DRAM_BW_UTIL);
  CHECK(nvml::abi::kGpmFp64 == NVML_GPM_METRIC_FP64_UTIL);
  CHECK(nvml::abi::kGpmFp32 == NVML_GPM_METRIC_FP32_UTIL);
  CHECK(nvml::abi::kGpmFp16 == NVML_GPM_METRIC_FP16_UTIL);
  CHECK(nvml::abi::kGpmPcieSent == NVML_GPM_METRIC_PCIE_TX_PER_SEC);
  CHECK(nvml::abi::kGpmPcieReceived == NVML_GPM_METRIC_PCIE_RX_PER_SEC);
  CHECK(nvml::abi::kGpmNvlinkReceived == NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC);
  CHECK(nvml::abi::kGpmNvlinkSent == NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC);
  CB_SAME_SIZE(SramEccErrors, nvmlEccSramErrorStatus_v1_t);
  CB_SAME_PLACE(SramEccErrors, threshold_exceeded, nvmlEccSramErrorStatus_v1_t, bThresholdExceeded);
  CB_SAME_SIZE(FabricInfo, nvmlGpuFabricInfo_v2_t);
  CB_SAME_PLACE(FabricInfo, status, nvmlGpuFabricInfo_v2_t, status);
  CB_SAME_PLACE(FabricInfo, state, nvmlGpuFabricInfo_v2_t, state);
  CB_SAME_PLACE(FabricInfo, health_mask, nvmlGpuFabricInfo_v2_t, healthMask);
  CB_SAME_SIZE(FabricInfoV1, nvmlGpuFabricInfo_t);
  CB_SAME_PLACE(FabricInfoV1, status, nvmlGpuFabricInfo_t, status);
  CB_SAME_PLACE(FabricInfoV1, state, nvmlGpuFabricInfo_t, state);
  CB_SAME_SIZE(EventData, nvmlEventData_t);
  CB_SAME_PLACE(EventData, type, nvmlEventData_t, eventType);
  CB_SAME_PLACE(EventData, data, nvmlEventData_t, eventData);
}

TEST_CASE("values of NVML are those of NVIDIA's header") {
  CHECK(nvml::abi::kSuccess == NVML_SUCCESS);
  CHECK(nvml::abi::kInvalidArgument == NVML_ERROR_INVALID_ARGUMENT);
  CHECK(nvml::abi::kNotSupported == NVML_ERROR_NOT_SUPPORTED);
  CHECK(nvml::abi::kInsufficientSize == NVML_ERROR_INSUFFICIENT_SIZE);
  CHECK(nvml::abi::kDriverNotLoaded == NVML_ERROR_DRIVER_NOT_LOADED);
  CHECK(nvml::abi::kTimeout == NVML_ERROR_TIMEOUT);
  CHECK(nvml::abi::kCorruptedInforom == NVML_ERROR_CORRUPTED_INFOROM);
  CHECK(nvml::abi::kGpuIsLost == NVML_ERROR_GPU_IS_LOST);
  CHECK(nvml::abi::kVersionMismatch == NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  CHECK(nvml::abi::kUnknown == NVML_ERROR_UNKNOWN);
  CHECK(nvml::abi::kEnabled == NVML_FEATURE_ENABLED);
  CHECK(nvml::abi::kClockSm == NVML_CLOCK_SM);
  CHECK(nvml::abi::kClockMemory == NVML_CLOCK_MEM);
  CHECK(nvml::abi::kTemperatureGpu == NVML_TEMPERATURE_GPU);
  CHECK(nvml::abi::kCorrected == NVML_MEMORY_ERROR_TYPE_CORRECTED);
  CHECK(nvml::abi::kUncorrected == NVML_MEMORY_ERROR_TYPE_UNCORRECTED);
  CHECK(nvml::abi::kVolatile == NVML_VOLATILE_ECC);
  CHECK(nvml::abi::kAggregate == NVML_AGGREGATE_ECC);
  CHECK(nvml::abi::kSram == NVML_MEMORY_LOCATION_SRAM);
  CHECK(nvml::abi::kReplay == NVML_NVLINK_ERROR_DL_REPLAY);
  CHECK(nvml::abi::kRecovery == NVML_NVLINK_ERROR_DL_RECOVERY);
  CHECK(nvml::abi::kCrcFlit == NVML_NVLINK_ERROR_DL_CRC_FLIT);
  CHECK(nvml::abi::kMaxNvLinks >= NVML_NVLINK_MAX_LINKS);
  CHECK(nvml::abi::kInternal == NVML_TOPOLOGY_INTERNAL);
  CHECK(nvml::abi::kSingle == NVML_TOPOLOGY_SINGLE);
  CHECK(nvml::abi::kMultiple == NVML_TOPOLOGY_MULTIPLE);
  CHECK(nvml::abi::kHostBridge == NVML_TOPOLOGY_HOSTBRIDGE);
  CHECK(nvml::abi::kNode == NVML_TOPOLOGY_NODE);
  CHECK(nvml::abi::kSystem == NVML_TOPOLOGY_SYSTEM);
  CHECK(nvml::abi::kDoubleBitEccError == nvmlEventTypeDoubleBitEccError);
  CHECK(nvml::abi::kXidCriticalError == nvmlEventTypeXidCriticalError);
  CHECK(nvml::abi::kFieldPowerPolicy == NVML_FI_DEV_PERF_POLICY_POWER);
  CHECK(nvml::abi::kFieldThermalPolicy == NVML_FI_DEV_PERF_POLICY_THERMAL);
  CHECK(nvml::abi::kFieldMemoryTemperature == NVML_FI_DEV_MEMORY_TEMP);
  CHECK(nvml::abi::kFieldPowerInstant == NVML_FI_DEV_POWER_INSTANT);
  CHECK(nvml::abi::kDouble == NVML_VALUE_TYPE_DOUBLE);
  CHECK(nvml::abi::kUnsigned == NVML_VALUE_TYPE_UNSIGNED_INT);
  CHECK(nvml::abi::kUnsignedLong == NVML_VALUE_TYPE_UNSIGNED_LONG);
  CHECK(nvml::abi::kUnsignedLongLong == NVML_VALUE_TYPE_UNSIGNED_LONG_LONG);
  CHECK(nvml::abi::kSignedLongLong == NVML_VALUE_TYPE_SIGNED_LONG_LONG);
  CHECK(nvml::abi::kSramEccErrorsVersion == nvmlEccSramErrorStatus_v1);
  CHECK(nvml::abi::kFabricInfoVersion == nvmlGpuFabricInfo_v2);
  CHECK(nvml::abi::kFabricNotSupported == NVML_GPU_FABRIC_STATE_NOT_SUPPORTED);
  CHECK(nvml::abi::kFabricCompleted == NVML_GPU_FABRIC_STATE_COMPLETED);
  CHECK(nvml::abi::kFabricDegradedBandwidth == NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_DEGRADED_BW);
  CHECK(nvml::abi::kFabricRouteRecovery == NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_ROUTE_RECOVERY);
  CHECK(nvml::abi::kFabricRouteUnhealthy == NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_ROUTE_UNHEALTHY);
  CHECK(nvml::abi::kFabricAccessTimeout ==
        NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_ACCESS_TIMEOUT_RECOVERY);
}
#endif
