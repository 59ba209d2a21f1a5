#include "cli/info_table.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/text.h"
#include "judge/uniformity.h"

namespace cb {
namespace {

constexpr const char* kAbsent = "–";

struct Column {
  const char* heading;
  const char* attribute;
  std::string (*text)(const Part&) = nullptr;  // makes the text; null: the attribute's value
};

// "gen 5 ×16", or with its maximum if that is more: "gen 4 ×8 (can gen 5 ×16)".
std::string pcie_text(const Part& part) {
  const auto link = [&](const char* generation, const char* lanes) -> std::string {
    const auto g = text_of(&part, generation), l = text_of(&part, lanes);
    return g && l ? fmt::format("gen {} ×{}", *g, *l) : "";
  };
  const std::string now = link("pcie_generation", "pcie_lanes");
  const std::string most = link("pcie_max_generation", "pcie_max_lanes");
  if (now.empty()) return kAbsent;
  return most.empty() || most == now ? now : fmt::format("{} (can {})", now, most);
}

struct Layout {
  std::string_view kind;
  std::vector<Column> columns;
};

// Kinds of which a host has several parts are shown as tables. A table leaves out columns that are
// empty for all parts.
const std::vector<Layout>& layouts() {
  static const std::vector<Column> gpu{{"GPU", "index"},
                                       {"model", "model"},
                                       {"CC", "compute_capability"},
                                       {"SMs", "sms"},
                                       {"memory", "memory_bytes"},
                                       {"PCI id", "pci_id"},
                                       {"PCIe", "", pcie_text},
                                       {"NUMA", "numa_node"},
                                       {"driver", "driver_version"},
                                       {"VBIOS", "vbios"},
                                       {"ECC", "ecc"},
                                       {"MIG", "mig"},
                                       {"persistence", "persistence"},
                                       {"limit", "power_limit_watts"},
                                       {"NVLinks", "nvlinks_active"},
                                       {"to GPUs", "topology"},
                                       {"to RDMA devices", "nics"}};
  static const std::vector<Layout> all{
      {"cache",
       {{"size", "size_bytes"}, {"instances", "instances"}, {"threads each", "shared_by_threads"}}},
      {"hugepages", {{"pages", "pages"}, {"free", "free_pages"}}},
      {"numa", {{"memory", "memory_bytes"}, {"processors", "cpus"}, {"distances", "distances"}}},
      {"gpu", gpu},
      {"nvswitch", gpu},
      {"nvlink_domain",
       {{"GPUs", "gpus"}, {"IMEX channels", "imex_channels"}, {"IMEX hosts", "imex_nodes"}}},
      {"nic",
       {{"type", "type"},
        {"state", "state"},
        {"rate", "rate_bits_per_second"},
        {"MTU", "mtu_bytes"},
        {"driver", "driver"},
        {"version", "driver_version"},
        {"firmware", "firmware"},
        {"PCIe", "", pcie_text},
        {"NUMA", "numa_node"}}},
      {"rdma",
       {{"port", "port"},
        {"link layer", "link_layer"},
        {"state", "state"},
        {"rate", "rate_bits_per_second"},
        {"link", "link"},
        {"firmware", "firmware"},
        {"board", "board_id"},
        {"GIDs", "gid_count"},
        {"netdev", "netdev"},
        {"PCIe", "", pcie_text},
        {"NUMA", "numa_node"}}},
      {"nvme",
       {{"model", "model"},
        {"serial", "serial"},
        {"firmware", "firmware"},
        {"size", "size_bytes"},
        {"state", "state"},
        {"PCIe", "", pcie_text},
        {"NUMA", "numa_node"}}},
      {"disk",
       {{"size", "size_bytes"},
        {"model", "model"},
        {"rotational", "rotational"},
        {"scheduler", "scheduler"},
        {"block", "logical_block_bytes"}}},
      {"mount",
       {{"type", "type"},
        {"source", "source"},
        {"size", "size_bytes"},
        {"free", "free_bytes"},
        {"read only", "read_only"}}},
      {"driver", {{"version", "version"}, {"source", "source_version"}}},
      {"library", {{"version", "version"}, {"file", "file"}, {"path", "path"}}},
  };
  return all;
}

const Layout* layout_of(std::string_view kind) {
  for (const Layout& layout : layouts()) {
    if (layout.kind == kind) return &layout;
  }
  return nullptr;
}

std::string cell(const Part& part, const Column& column) {
  if (column.text != nullptr) return column.text(part);
  const auto found = part.attributes.find(column.attribute);
  return found == part.attributes.end()
             ? kAbsent
             : terminal_safe(attribute_display(found->first, found->second));
}

std::string indented(const std::string& text, const std::string& margin) {
  std::string out;
  for (size_t from = 0; from < text.size();) {
    const size_t end = std::min(text.find('\n', from), text.size() - 1);
    out += margin + text.substr(from, end + 1 - from);
    from = end + 1;
  }
  return out;
}

// An attribute's name without its unit, which the value carries.
std::string heading(std::string name) {
  for (const std::string_view unit : {"_bits_per_second", "_bytes", "_seconds", "_hertz"}) {
    if (name.ends_with(unit)) {
      name.resize(name.size() - unit.size());
      break;
    }
  }
  std::replace(name.begin(), name.end(), '_', ' ');
  return terminal_safe(name);
}

std::string list_of(const Part& part) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, value] : part.attributes)
    rows.push_back({heading(name), terminal_safe(attribute_display(name, value))});
  for (const auto& [name, reason] : part.unavailable)
    rows.push_back({heading(name), fmt::format("{} {}", kAbsent, terminal_safe(reason.text()))});
  return text_table(rows, {});
}

// The reasons why values are missing, each once with the parts that it concerns.
std::string reasons_of(const std::vector<const Part*>& parts) {
  std::map<std::string, std::vector<std::string>> ids;
  for (const Part* part : parts) {
    for (const auto& [name, reason] : part->unavailable)
      ids[heading(name) + ": " + terminal_safe(reason.text())].push_back(terminal_safe(part->id));
  }
  std::string out;
  for (const auto& [reason, of] : ids)
    out += fmt::format("{} {} ({})\n", kAbsent, reason, fmt::join(of, " "));
  return out;
}

std::string table_of(const Layout& layout, const std::vector<const Part*>& parts) {
  std::vector<std::vector<std::string>> rows{{""}};
  for (const Part* part : parts) rows.push_back({terminal_safe(part->id)});
  for (const Column& column : layout.columns) {
    std::vector<std::string> cells;
    for (const Part* part : parts) cells.push_back(cell(*part, column));
    const bool empty =
        std::all_of(cells.begin(), cells.end(), [](const auto& c) { return c == kAbsent; });
    if (empty) continue;
    rows[0].push_back(column.heading);
    for (size_t i = 0; i < cells.size(); ++i) rows[i + 1].push_back(cells[i]);
  }
  if (rows[0].size() == 1) rows.erase(rows.begin());  // a column of ids alone needs no heading
  return text_table(rows, {}) + reasons_of(parts);
}

std::string inventory_text(const HostInventory& host) {
  std::string out;
  std::vector<std::string> kinds;
  for (const Part& part : host.parts) {
    if (std::find(kinds.begin(), kinds.end(), part.kind) == kinds.end()) kinds.push_back(part.kind);
  }
  for (const std::string& kind : kinds) {
    const std::vector<const Part*> parts = host.all(kind);
    out += terminal_safe(kind) + "\n";
    const Layout* layout = layout_of(kind);
    if (layout != nullptr) {
      out += indented(table_of(*layout, parts), "  ");
      continue;
    }
    for (const Part* part : parts) out += indented(list_of(*part), "  ");
  }
  return out;
}

std::string some_hosts(const std::vector<std::string>& hosts) {
  constexpr size_t kShown = 6;
  std::string out;
  for (size_t i = 0; i < std::min(hosts.size(), kShown); ++i)
    out += (i > 0 ? " " : "") + terminal_safe(hosts[i]);
  if (hosts.size() > kShown) out += fmt::format(" and {} more", hosts.size() - kShown);
  return out;
}

std::string difference_text(const AttributeValues& values) {
  std::string out = "  " + terminal_safe(values.attribute) + "\n";
  std::vector<std::vector<std::string>> rows;
  for (const ValueGroup& group : values.groups) {
    const bool usual = values.majority && &group == &values.groups.front();
    const std::string who =
        usual ? fmt::format("{} hosts", group.hosts.size()) : some_hosts(group.hosts);
    rows.push_back(
        {who, terminal_safe(group.text.text()), values.majority && !usual ? "← odd" : ""});
  }
  return out + indented(text_table(rows, {}), "    ");
}

std::map<std::string, size_t> oddities(const Uniformity& uniformity) {
  std::map<std::string, size_t> out;
  for (const AttributeValues& d : uniformity.differences) {
    for (const std::string& host : d.odd_hosts) ++out[host];
  }
  return out;
}

std::string uniformity_text(const Uniformity& uniformity) {
  if (uniformity.uniform())
    return fmt::format("✓ {} hosts, uniform: {} attributes compared\n", uniformity.hosts,
                       uniformity.compared);
  constexpr size_t kShown = 40;
  std::string out = fmt::format("✗ {} hosts, {} of {} attributes differ\n", uniformity.hosts,
                                uniformity.differences.size(), uniformity.compared);
  for (size_t i = 0; i < std::min(uniformity.differences.size(), kShown); ++i)
    out += difference_text(uniformity.differences[i]);
  if (uniformity.differences.size() > kShown)
    out += fmt::format("  and {} more: write the document with --json and render its report\n",
                       uniformity.differences.size() - kShown);
  const auto odd = oddities(uniformity);
  std::vector<std::pair<std::string, size_t>> order(odd.begin(), odd.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  if (order.empty()) return out + "  no value is the majority's: no host is called odd\n";
  std::vector<std::string> names;
  for (const auto& [host, count] : order) names.push_back(fmt::format("{} ({})", host, count));
  return out + "  odd hosts, with the number of attributes: " + some_hosts(names) + "\n";
}

// The host that is odd in the fewest attributes; it stands for the others.
const HostInventory& most_usual(std::span<const HostInventory> hosts,
                                const Uniformity& uniformity) {
  auto odd = oddities(uniformity);
  return *std::min_element(
      hosts.begin(), hosts.end(),
      [&](const HostInventory& a, const HostInventory& b) { return odd[a.host] < odd[b.host]; });
}

}  // namespace

std::string info_table(std::span<const HostInventory> hosts) {
  if (hosts.empty()) return "";
  if (hosts.size() == 1)
    return terminal_safe(hosts[0].host) + "\n" + indented(inventory_text(hosts[0]), "  ");
  const Uniformity uniformity = compare_hosts(hosts);
  const HostInventory& usual = most_usual(hosts, uniformity);
  return fmt::format("{}, as the example of {} hosts\n{}{}", terminal_safe(usual.host),
                     hosts.size(), indented(inventory_text(usual), "  "),
                     uniformity_text(uniformity));
}

}  // namespace cb
