// What is made of a window's readings.
#include "bench/gpu/activity.h"
#include "bench/gpu/telemetry.h"
#include "model/pcie.h"

namespace cb {

std::optional<double> GpuWindow::mean_watts() const {
  if (energy_joules && seconds > 0 && *energy_joules > 0) return *energy_joules / seconds;
  if (watts.empty()) return std::nullopt;
  return watts.summary().mean;
}

Samples GpuWindow::share_of_power(double limit) const {
  const auto mean = mean_watts();
  if (watts.empty() && mean) return {*mean / limit};
  return watts.mapped([&](double reading) { return reading / limit; });
}

Samples GpuWindow::share_of_memory_clock(double highest) const {
  return memory_clock_hertz.mapped([&](double reading) { return reading / highest; });
}

GpuActivity GpuWindow::activity() const {
  std::map<std::string, double> values = units ? units->values : std::map<std::string, double>();
  if (!utilisation_within.empty()) values["gpu_utilisation"] = utilisation_within.summary().mean;
  GpuLinkRates rates{.nvlink = nvlink_bytes_per_second};
  if (pcie_generation && pcie_lanes)
    rates.pcie =
        pcie_bytes_per_second(static_cast<int>(*pcie_generation), static_cast<int>(*pcie_lanes));
  return gpu_activity(values, rates);
}

}  // namespace cb
