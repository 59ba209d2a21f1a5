// The neighbours as lldpd tells them, for hosts where nobody may listen to raw frames.
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json/json_text.h"
#include "core/text.h"
#include "core/units.h"
#include "model/roce/dcb.h"

namespace cb {
namespace {

using nlohmann::json;

// json0 writes every part as a list, also where there is one alone.
const json* first_of(const json* from, const char* key) {
  if (from == nullptr || !from->is_object()) return nullptr;
  const auto found = from->find(key);
  if (found == from->end()) return nullptr;
  if (!found->is_array()) return &*found;
  return found->empty() ? nullptr : &found->front();
}

std::string value_of(const json* from, const char* key) {
  const json* part = first_of(from, key);
  const json* value = first_of(part, "value");
  if (value == nullptr || !value->is_string()) return {};
  return terminal_safe(value->get<std::string>());
}

LldpNeighbour neighbour_of(const json& interface) {
  const json *chassis = first_of(&interface, "chassis"), *port = first_of(&interface, "port");
  LldpNeighbour out{.chassis = value_of(chassis, "id"),
                    .port = value_of(port, "id"),
                    .description = value_of(port, "descr"),
                    .name = value_of(chassis, "name")};
  const auto frame = parse_integer(value_of(port, "mfs"));
  if (frame && *frame > 0 && *frame < 65536) out.frame_bytes = static_cast<int>(*frame);
  return out;
}

}  // namespace

std::map<std::string, LldpNeighbour> read_lldpd_json(const std::string& text,
                                                     const std::string& file) {
  const json whole = parse_json(text, file);
  const json* lldp = first_of(&whole, "lldp");
  if (lldp == nullptr || !lldp->is_object()) throw UsageError(file, "", said("lldp.foreign"));
  std::map<std::string, LldpNeighbour> out;
  const auto interfaces = lldp->find("interface");
  if (interfaces == lldp->end() || !interfaces->is_array()) return out;
  for (const json& interface : *interfaces) {
    const auto name = interface.is_object() ? interface.find("name") : interface.end();
    if (!interface.is_object() || name == interface.end() || !name->is_string()) continue;
    LldpNeighbour neighbour = neighbour_of(interface);
    if (neighbour.port.empty() || neighbour.system().empty()) continue;
    out.try_emplace(name->get<std::string>(), std::move(neighbour));
  }
  return out;
}

}  // namespace cb
