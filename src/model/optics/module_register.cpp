#include "model/optics/module_register.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace cb {

using nlohmann::json;

std::string module_register_text(const std::vector<FittedModule>& modules) {
  json out = json::array();
  for (const FittedModule& m : modules) {
    if (!m.module) continue;
    const OpticalModule& o = *m.module;
    if (o.vendor.empty() && o.part_number.empty() && o.serial.empty()) continue;
    out.push_back(json::array({m.host, m.port, o.vendor, o.part_number, o.serial, o.firmware}));
  }
  // Names come from modules: bytes that are no UTF-8 are replaced.
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::vector<RegisteredModule> parse_module_register(std::string_view text) {
  std::vector<RegisteredModule> out;
  const json root = json::parse(text, nullptr, false);
  if (!root.is_array()) return out;
  constexpr size_t kCells = 6;
  for (const json& row : root) {
    const bool whole = row.is_array() && row.size() == kCells &&
                       std::ranges::all_of(row, [](const json& cell) { return cell.is_string(); });
    if (!whole) continue;
    out.push_back({row[0], row[1], row[2], row[3], row[4], row[5]});
  }
  return out;
}

}  // namespace cb
