#include "bench/collectives/nccl/affinity.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cb::nccl {
namespace {

std::set<int> nodes_of_devices(const std::vector<std::string>& pci_addresses, const FsRoot& fs) {
  std::set<int> out;
  for (const std::string& address : pci_addresses) {
    if (address.empty()) continue;
    const auto node = fs.integer("/sys/bus/pci/devices/" + address + "/numa_node");
    if (node && *node >= 0) out.insert(static_cast<int>(*node));
  }
  return out;
}

std::string node_list(const std::set<int>& nodes) {
  return fmt::format("node{} {}", nodes.size() == 1 ? "" : "s", fmt::join(nodes, ","));
}

}  // namespace

NumaFit fit_to_devices(const std::vector<std::string>& pci_addresses, const FsRoot& fs,
                       const Machine& allowed) {
  const std::set<int> nodes = nodes_of_devices(pci_addresses, fs);
  NumaFit out;
  if (nodes.empty()) return out;
  for (const Core& core : allowed.cores) {
    if (nodes.contains(core.node))
      out.cpus.insert(out.cpus.end(), core.cpus.begin(), core.cpus.end());
  }
  std::sort(out.cpus.begin(), out.cpus.end());
  if (!out.cpus.empty()) {
    out.text = fmt::format("{}, CPUs {}", node_list(nodes), cpu_list(out.cpus));
    return out;
  }
  const std::set<int> bound(allowed.nodes.begin(), allowed.nodes.end());
  out.text = fmt::format("{}, runs on {}", node_list(nodes), node_list(bound));
  out.note = fmt::format(
      "is bound to {} and its GPUs hang on {}: every start of work crosses the sockets; next: bind "
      "ranks near their GPUs, or start mpirun with --bind-to none",
      node_list(bound), node_list(nodes));
  return out;
}

NearDevices::NearDevices(const Context& context, const Devices& devices) {
  std::vector<std::string> addresses;
  for (const auto& device : devices) addresses.push_back(device->pci_address());
  if (std::all_of(addresses.begin(), addresses.end(), [](const auto& a) { return a.empty(); }))
    return;
  fit_ = fit_to_devices(addresses, context.fs, read_machine());
  if (!fit_.cpus.empty() && !bind_thread(fit_.cpus)) fit_.text += ", which the kernel refuses";
  if (!fit_.note.empty()) fit_.note = context.who() + " " + fit_.note;
}

}  // namespace cb::nccl
