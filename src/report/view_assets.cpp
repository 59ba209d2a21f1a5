// The table of assets: the parts in each host, and the serial number of the host.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/inventory.h"
#include "report/view_parts.h"

namespace cb {
namespace {

std::string shown(const Part* part, const std::string& attribute) {
  if (part == nullptr) return "";
  const auto found = part->attributes.find(attribute);
  return found == part->attributes.end() ? "" : attribute_display(attribute, found->second);
}

// "8 × NVIDIA H20, 1 × NVIDIA H20-3e": counts the parts of a kind by the attribute. A part without
// the attribute counts under its kind.
std::string counted(const HostInventory& host, const std::string& kind,
                    const std::string& attribute) {
  std::vector<std::pair<std::string, int>> groups;
  for (const Part* part : host.all(kind)) {
    std::string name = shown(part, attribute);
    if (name.empty()) name = kind;
    const auto group = std::ranges::find(groups, name, &std::pair<std::string, int>::first);
    if (group == groups.end())
      groups.emplace_back(name, 1);
    else
      ++group->second;
  }
  std::string out;
  for (const auto& [name, n] : groups)
    out += fmt::format("{}{} × {}", out.empty() ? "" : ", ", n, name);
  return out;
}

std::string processors(const HostInventory& host) {
  const Part* cpu = host.find("cpu");
  const std::string model = shown(cpu, "model"), sockets = shown(cpu, "sockets");
  return sockets.empty() || model.empty() ? model : sockets + " × " + model;
}

std::string product(const HostInventory& host) {
  const Part* system = host.find("system");
  const std::string vendor = shown(system, "vendor"), name = shown(system, "product");
  return vendor.empty() || name.empty() ? vendor + name : vendor + " " + name;
}

Row asset_row(const HostInventory& host) {
  std::vector<std::string> cells{host.host,
                                 product(host),
                                 shown(host.find("system"), "serial"),
                                 processors(host),
                                 shown(host.find("memory"), "total_bytes"),
                                 counted(host, "gpu", "model"),
                                 counted(host, "rdma", "rate_bits_per_second"),
                                 counted(host, "nvme", "model")};
  for (std::string& cell : cells) {
    if (cell.empty()) cell = "–";
  }
  return {{}, std::move(cells)};
}

}  // namespace

Table assets_table(const ReportInput& in) {
  const Texts& t = in.t;
  Table out{.caption = t("assets.caption"),
            .columns = {{t("col.host")},
                        {t("col.system")},
                        {t("col.serial")},
                        {t("col.cpu")},
                        {t("col.memory"), true},
                        {t("col.gpus")},
                        {t("col.rdma")},
                        {t("col.nvme")}}};
  for (const HostInventory& host : in.campaign.inventories) out.rows.push_back(asset_row(host));
  return out;
}

}  // namespace cb
