// Describes what a GPU is, how it is set, and how GPUs reach each other.
#include <algorithm>

#include "sys/gpu/nvml/ask.h"

namespace cb::nvml {
namespace {

void describe_identity(const Asker& a, Part& part) {
  const Table& t = a.table();
  a.text(part, "serial", "nvmlDeviceGetSerial", t.nvmlDeviceGetSerial);
  a.text(part, "vbios", "nvmlDeviceGetVbiosVersion", t.nvmlDeviceGetVbiosVersion);
  a.text(part, "board_part_number", "nvmlDeviceGetBoardPartNumber", t.nvmlDeviceGetBoardPartNumber);
  a.text(part, "inforom_version", "nvmlDeviceGetInforomImageVersion",
         t.nvmlDeviceGetInforomImageVersion);
  a.integer(part, "module_id", "nvmlDeviceGetModuleId", t.nvmlDeviceGetModuleId, 1);
  int major = 0, minor = 0;
  if (a.ask("nvmlDeviceGetCudaComputeCapability", t.nvmlDeviceGetCudaComputeCapability, &major,
            &minor)
          .empty())
    part.attributes["compute_capability"] = fmt::format("{}.{}", major, minor);
  a.integer(part, "cores", "nvmlDeviceGetNumGpuCores", t.nvmlDeviceGetNumGpuCores, 1);
  // Number of fp32 units in an SM by compute capability: CUDA programming guide, arithmetic
  // throughput.
  const int64_t per_sm = major == 8 && minor == 0 ? 64 : 128;
  if (const auto cores = part.attributes.find("cores");
      cores != part.attributes.end() && major >= 8)
    part.attributes["sms"] = std::get<int64_t>(cores->second) / per_sm;
  a.integer(part, "memory_bus_bits", "nvmlDeviceGetMemoryBusWidth", t.nvmlDeviceGetMemoryBusWidth,
            1);
  a.integer(part, "max_clock_hertz", "nvmlDeviceGetMaxClockInfo", t.nvmlDeviceGetMaxClockInfo, 1e6,
            abi::kClockSm);
  a.integer(part, "max_memory_clock_hertz", "nvmlDeviceGetMaxClockInfo",
            t.nvmlDeviceGetMaxClockInfo, 1e6, abi::kClockMemory);
}

void describe_settings(const Asker& a, Part& part) {
  const Table& t = a.table();
  abi::EnableState ecc{}, pending{};
  const Said no_ecc = a.ask("nvmlDeviceGetEccMode", t.nvmlDeviceGetEccMode, &ecc, &pending);
  if (no_ecc.empty())
    part.attributes["ecc"] = ecc == abi::kEnabled;
  else
    part.unavailable["ecc"] = no_ecc;
  unsigned mig = 0, mig_pending = 0;
  const Said no_mig = a.ask("nvmlDeviceGetMigMode", t.nvmlDeviceGetMigMode, &mig, &mig_pending);
  if (no_mig.empty())
    part.attributes["mig"] = mig != 0;
  else
    part.unavailable["mig"] = no_mig;
  a.flag(part, "persistence", "nvmlDeviceGetPersistenceMode", t.nvmlDeviceGetPersistenceMode);
  a.integer(part, "power_limit_watts", "nvmlDeviceGetEnforcedPowerLimit",
            t.nvmlDeviceGetEnforcedPowerLimit, 1e-3);
  a.integer(part, "power_limit_default_watts", "nvmlDeviceGetPowerManagementDefaultLimit",
            t.nvmlDeviceGetPowerManagementDefaultLimit, 1e-3);
  abi::ComputeMode mode{};
  if (a.ask("nvmlDeviceGetComputeMode", t.nvmlDeviceGetComputeMode, &mode).empty()) {
    constexpr std::array kModes{"default", "exclusive thread", "prohibited", "exclusive process"};
    const auto i = static_cast<size_t>(mode);
    if (i < kModes.size()) part.attributes["compute_mode"] = std::string(kModes[i]);
  }
}

void describe_links(const Asker& a, Part& part) {
  const Table& t = a.table();
  Said why;
  if (const auto active = active_nvlinks(a, why))
    part.attributes["nvlinks_active"] = *active;
  else
    part.unavailable["nvlinks_active"] = why;
  a.integer(part, "pcie_max_generation", "nvmlDeviceGetGpuMaxPcieLinkGeneration",
            t.nvmlDeviceGetGpuMaxPcieLinkGeneration, 1);
  a.integer(part, "pcie_max_lanes", "nvmlDeviceGetMaxPcieLinkWidth",
            t.nvmlDeviceGetMaxPcieLinkWidth, 1);
  a.integer(part, "pcie_generation", "nvmlDeviceGetCurrPcieLinkGeneration",
            t.nvmlDeviceGetCurrPcieLinkGeneration, 1);
  a.integer(part, "pcie_lanes", "nvmlDeviceGetCurrPcieLinkWidth", t.nvmlDeviceGetCurrPcieLinkWidth,
            1);
}

std::string ancestor_text(abi::TopologyLevel level) {
  switch (level) {
    case abi::kInternal:
    case abi::kSingle:
      return "PIX";
    case abi::kMultiple:
      return "PXB";
    case abi::kHostBridge:
      return "PHB";
    case abi::kNode:
      return "NODE";
    default:
      return "SYS";
  }
}

// "<UUID of the NVLink cluster>.<clique>" of a GPU that the fabric manager has registered; empty if
// it is in none. A UUID of zeros, as GPUs of a single host have it, names no cluster.
std::string domain_name(const abi::FabricInfo& info) {
  if (info.state != abi::kFabricCompleted || info.status != abi::kSuccess) return "";
  const bool none = std::ranges::all_of(info.cluster_uuid, [](unsigned char c) { return c == 0; });
  if (none) return "";
  std::string out;
  for (const unsigned char byte : info.cluster_uuid) out += fmt::format("{:02x}", byte);
  return fmt::format("{}.{}", out, info.clique);
}

void describe_fabric(const Asker& a, Part& part) {
  abi::FabricInfo info{};
  Said no_faults;
  const Said why = read_fabric(a, info, no_faults);
  if (!why.empty()) {
    part.unavailable["fabric_state"] = why;
    return;
  }
  // nvml.h: NVML_GPU_FABRIC_STATE_*.
  constexpr std::array kStates{"not supported", "not started", "in progress", "completed"};
  if (info.state < kStates.size())
    part.attributes["fabric_state"] = std::string(kStates[info.state]);
  if (const std::string domain = domain_name(info); !domain.empty())
    part.attributes["nvlink_domain"] = domain;
}

bool in_ready_fabric(const Asker& a) {
  abi::FabricInfo info{};
  Said no_faults;
  return read_fabric(a, info, no_faults).empty() && info.state == abi::kFabricCompleted;
}

// Returns the PCI addresses at the other ends of the GPU's active NVLinks; a switch's address is no
// GPU's. NVLink 5's switches are not PCI devices: if the GPU's fabric is ready, such a link leads
// to a switch.
std::vector<std::string> nvlink_ends(const Asker& a) {
  std::vector<std::string> out;
  const Table& t = a.table();
  const bool fabric = in_ready_fabric(a);
  for (unsigned link = 0; link < abi::kMaxNvLinks; ++link) {
    abi::EnableState state{};
    abi::PciInfo pci{};
    if (!a.ask("nvmlDeviceGetNvLinkState", t.nvmlDeviceGetNvLinkState, link, &state).empty()) break;
    if (state != abi::kEnabled) continue;
    if (a.ask("nvmlDeviceGetNvLinkRemotePciInfo_v2", t.nvmlDeviceGetNvLinkRemotePciInfo_v2, link,
              &pci)
            .empty())
      out.push_back(pci_text(pci));
    else if (fabric)
      out.emplace_back("switch");
  }
  return out;
}

}  // namespace

std::optional<int64_t> active_nvlinks(const Asker& a, Said& why) {
  int64_t active = 0;
  bool any = false;
  for (unsigned link = 0; link < abi::kMaxNvLinks; ++link) {
    abi::EnableState state{};
    const Said problem =
        a.ask("nvmlDeviceGetNvLinkState", a.table().nvmlDeviceGetNvLinkState, link, &state);
    if (!problem.empty()) {
      if (!any) why = problem;  // NVML refuses the first number beyond the last link: the list ends
      break;
    }
    any = true;
    if (state == abi::kEnabled) ++active;
  }
  return any ? std::optional(active) : std::nullopt;
}

void Library::describe(const Gpu& gpu, Part& part) const {
  part.attributes["index"] = static_cast<int64_t>(gpu.index);
  if (!gpu.unreachable.empty()) {
    part.unavailable["nvml"] = gpu.unreachable;
    return;
  }
  if (!gpu.name.empty()) part.attributes["model"] = gpu.name;
  if (!gpu.uuid.empty()) part.attributes["uuid"] = gpu.uuid;
  if (gpu.memory_bytes > 0)
    part.attributes["memory_bytes"] = static_cast<int64_t>(gpu.memory_bytes);
  const Asker a(*table_, gpu);
  describe_identity(a, part);
  describe_settings(a, part);
  describe_links(a, part);
  describe_fabric(a, part);
}

Topology Library::topology(const std::vector<Gpu>& gpus) const {
  Topology out(gpus.size(), std::vector<std::string>(gpus.size()));
  std::vector<std::vector<std::string>> ends;
  for (const Gpu& gpu : gpus)
    ends.push_back(gpu.handle == nullptr ? std::vector<std::string>{}
                                         : nvlink_ends(Asker(*table_, gpu)));
  const auto is_gpu = [&](const std::string& address) {
    return std::any_of(gpus.begin(), gpus.end(),
                       [&](const Gpu& g) { return g.pci_address == address; });
  };
  for (size_t i = 0; i < gpus.size(); ++i) {
    for (size_t j = 0; j < gpus.size(); ++j) {
      if (i == j) out[i][j] = "X";
      if (i == j || gpus[i].handle == nullptr || gpus[j].handle == nullptr) continue;
      // Links to switches lead to every other GPU with such links.
      const bool switched = !ends[j].empty() && !is_gpu(ends[j].front());
      const auto links = std::count_if(ends[i].begin(), ends[i].end(), [&](const std::string& e) {
        return e == gpus[j].pci_address || (switched && !is_gpu(e));
      });
      if (links > 0) {
        out[i][j] = fmt::format("NV{}", links);
        continue;
      }
      abi::TopologyLevel level{};
      if (Asker(*table_, gpus[i])
              .ask("nvmlDeviceGetTopologyCommonAncestor",
                   table_->nvmlDeviceGetTopologyCommonAncestor,
                   static_cast<abi::Device>(gpus[j].handle), &level)
              .empty())
        out[i][j] = ancestor_text(level);
    }
  }
  return out;
}

}  // namespace cb::nvml
