#include "sys/cpu/numa.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <hwloc.h>

#include "core/error.h"

namespace cb {
namespace {

struct DestroyTopology {
  void operator()(hwloc_topology* t) const { hwloc_topology_destroy(t); }
};
using Topology = std::unique_ptr<hwloc_topology, DestroyTopology>;

Topology load_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) throw Error("hwloc_topology_init failed: out of memory?");
  Topology topology(raw);
  if (hwloc_topology_load(raw) != 0)
    throw Error("hwloc_topology_load failed; next: run `lstopo` on this host");
  return topology;
}

int first_node(hwloc_const_nodeset_t nodeset) { return std::max(0, hwloc_bitmap_first(nodeset)); }

// Returns the type of the last cache level: L4 if there is one, else L3, else L2.
hwloc_obj_type_t last_level(hwloc_topology_t t) {
  if (hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_L4CACHE) > 0) return HWLOC_OBJ_L4CACHE;
  if (hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_L3CACHE) > 0) return HWLOC_OBJ_L3CACHE;
  return HWLOC_OBJ_L2CACHE;
}

void add_caches(hwloc_topology_t t, Machine& machine) {
  const hwloc_obj_type_t type = last_level(t);
  machine.node_llc_bytes.assign(machine.nodes.size(), 0);
  for (hwloc_obj_t c = hwloc_get_next_obj_by_type(t, type, nullptr); c != nullptr;
       c = hwloc_get_next_obj_by_type(t, type, c)) {
    const auto bytes = static_cast<int64_t>(c->attr->cache.size);
    machine.llc_bytes += bytes;
    // A cache shared by several nodes (sub-NUMA clustering) counts for each of them.
    for (size_t i = 0; i < machine.nodes.size(); ++i) {
      if (hwloc_bitmap_isset(c->nodeset, static_cast<unsigned>(machine.nodes[i])) != 0)
        machine.node_llc_bytes[i] += bytes;
    }
  }
}

}  // namespace

Machine read_machine() {
  const Topology topology = load_topology();
  hwloc_topology_t t = topology.get();
  const std::vector<int> allowed = allowed_cpus();
  Machine machine;
  for (hwloc_obj_t core = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_CORE, nullptr); core != nullptr;
       core = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_CORE, core)) {
    Core mine{.node = first_node(core->nodeset)};
    int cpu = -1;
    while ((cpu = hwloc_bitmap_next(core->cpuset, cpu)) != -1) {
      if (std::binary_search(allowed.begin(), allowed.end(), cpu)) mine.cpus.push_back(cpu);
    }
    if (!mine.cpus.empty()) machine.cores.push_back(std::move(mine));
  }
  // Some virtual machines do not report cores: every CPU then counts as one.
  if (machine.cores.empty()) {
    for (const int cpu : allowed) machine.cores.push_back({{cpu}, 0});
  }
  for (const Core& c : machine.cores) machine.nodes.push_back(c.node);
  std::sort(machine.nodes.begin(), machine.nodes.end());
  machine.nodes.erase(std::unique(machine.nodes.begin(), machine.nodes.end()), machine.nodes.end());
  add_caches(t, machine);
  return machine;
}

std::string cpu_list(const std::vector<int>& cpus) {
  std::string out;
  for (size_t i = 0; i < cpus.size();) {
    size_t end = i + 1;
    while (end < cpus.size() && cpus[end] == cpus[end - 1] + 1) ++end;
    out += fmt::format("{}{}", out.empty() ? "" : ",", cpus[i]);
    if (end - i > 1) out += fmt::format("-{}", cpus[end - 1]);
    i = end;
  }
  return out;
}

}  // namespace cb
