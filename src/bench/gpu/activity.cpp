#include "bench/gpu/activity.h"

#include <algorithm>

namespace cb {
namespace {

std::optional<double> named(const std::map<std::string, double>& values, const char* name) {
  const auto found = values.find(name);
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

// The busier direction over the link's rate.
std::optional<double> share_of_link(std::optional<double> sent, std::optional<double> received,
                                    std::optional<double> rate) {
  if ((!sent && !received) || rate.value_or(0) <= 0) return std::nullopt;
  return std::max(sent.value_or(0), received.value_or(0)) / *rate;
}

}  // namespace

GpuActivity gpu_activity(const std::map<std::string, double>& values, const GpuLinkRates& rates) {
  return {.utilisation = named(values, "gpu_utilisation"),
          .sm = named(values, "sm_active"),
          .occupancy = named(values, "sm_occupancy"),
          .tensor = named(values, "tensor_active"),
          .fp64 = named(values, "fp64_active"),
          .fp32 = named(values, "fp32_active"),
          .fp16 = named(values, "fp16_active"),
          .integer = named(values, "integer_active"),
          .dram = named(values, "dram_active"),
          .pcie = share_of_link(named(values, "pcie_sent_bytes_per_second"),
                                named(values, "pcie_received_bytes_per_second"), rates.pcie),
          .nvlink = share_of_link(named(values, "nvlink_sent_bytes_per_second"),
                                  named(values, "nvlink_received_bytes_per_second"), rates.nvlink)};
}

}  // namespace cb
