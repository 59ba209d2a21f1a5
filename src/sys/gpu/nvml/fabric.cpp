// Reads the state of the NVSwitch fabric, of old and of new drivers.
#include <algorithm>

#include "sys/gpu/nvml/ask.h"

namespace cb::nvml {

// NVML API reference, changes between 545 and 550: nvmlDeviceGetGpuFabricInfoV came with 550.
Said read_fabric(const Asker& a, abi::FabricInfo& info, Said& no_faults) {
  info = {};
  info.version = abi::kFabricInfoVersion;
  no_faults = {};
  const Said why =
      a.ask("nvmlDeviceGetGpuFabricInfoV", a.table().nvmlDeviceGetGpuFabricInfoV, &info);
  if (why.empty() || a.table().nvmlDeviceGetGpuFabricInfoV != nullptr) return why;
  abi::FabricInfoV1 old{};
  if (!a.ask("nvmlDeviceGetGpuFabricInfo", a.table().nvmlDeviceGetGpuFabricInfo, &old).empty())
    return why;
  std::copy(std::begin(old.cluster_uuid), std::end(old.cluster_uuid), info.cluster_uuid);
  info.status = old.status;
  info.clique = old.clique;
  info.state = old.state;
  no_faults = said("nvml.since", why, "550");
  return {};
}

}  // namespace cb::nvml
