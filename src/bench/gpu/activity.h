#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>

#include "model/gpu_activity.h"

namespace cb {

// A reading of nvml::ActivityMeter, or the utilisation: its name in records and its unit.
struct ActivityName {
  const char* name;
  const char* unit;
};
inline constexpr std::array kActivityNames{
    ActivityName{"gpu_utilisation", "share"},
    ActivityName{"sm_active", "share"},
    ActivityName{"sm_occupancy", "share"},
    ActivityName{"tensor_active", "share"},
    ActivityName{"fp64_active", "share"},
    ActivityName{"fp32_active", "share"},
    ActivityName{"fp16_active", "share"},
    ActivityName{"integer_active", "share"},
    ActivityName{"dram_active", "share"},
    ActivityName{"pcie_sent_bytes_per_second", "bytes_per_second"},
    ActivityName{"pcie_received_bytes_per_second", "bytes_per_second"},
    ActivityName{"nvlink_sent_bytes_per_second", "bytes_per_second"},
    ActivityName{"nvlink_received_bytes_per_second", "bytes_per_second"}};

// Rates of a GPU's links in one direction, in bytes per second. A link whose rate is not known has
// no share.
struct GpuLinkRates {
  std::optional<double> nvlink = {}, pcie = {};
};

// Makes the model's shares of values by those names.
GpuActivity gpu_activity(const std::map<std::string, double>& values, const GpuLinkRates& rates);

}  // namespace cb
