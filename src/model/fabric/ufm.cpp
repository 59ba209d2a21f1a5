// UFM's REST answers, saved by curl: lists of ports, links, systems and alarms. Which one a list is
// shows in its first element.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/units.h"
#include "model/fabric/net_builder.h"
#include "model/fabric/readers.h"

namespace cb {
namespace {

using Json = nlohmann::json;

// Numbers stand as numbers or as texts.
std::string text_of(const Json& item, const char* name) {
  const auto at = item.find(name);
  if (at == item.end() || at->is_null()) return "";
  if (at->is_string()) return at->get<std::string>();
  return at->is_number() ? at->dump() : "";
}

int number_of(const Json& item, const char* name) {
  const auto out = parse_integer(text_of(item, name));
  return out && *out >= 0 && *out <= 0xffff ? static_cast<int>(*out) : 0;
}

std::string upper(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

// "4x", "IB_4x".
std::string width_of(const std::string& text) {
  return text.substr(text.starts_with("IB_") ? 3 : 0);
}

unsigned speed_mask(const Json& item, const char* name) {
  unsigned out = 0;
  const auto at = item.find(name);
  if (at == item.end() || !at->is_array()) return 0;
  for (const Json& speed : *at) {
    for (unsigned bit = 0; bit < kLaneSpeeds; ++bit) {
      if (speed.is_string() && upper(speed.get<std::string>()) == lane_speed(bit)) out |= 1U << bit;
    }
  }
  return out;
}

unsigned width_mask(const Json& item, const char* name) {
  constexpr const char* kWidths[] = {"1x", "4x", "8x", "12x", "2x"};
  unsigned out = 0;
  const auto at = item.find(name);
  if (at == item.end() || !at->is_array()) return 0;
  for (const Json& width : *at) {
    for (unsigned bit = 0; bit < 5; ++bit) {
      if (width.is_string() && width_of(width.get<std::string>()) == kWidths[bit]) out |= 1U << bit;
    }
  }
  return out;
}

class UfmReader {
 public:
  explicit UfmReader(const std::string& file) : file_(file) {}

  Net read(const Json& list) {
    if (list.empty()) throw UsageError(file_, "", said("fabric.foreign_json"));
    for (size_t i = 0; i < list.size(); ++i) {
      number_ = i;
      const Json& item = list[i];
      if (!item.is_object()) refuse();
      if (item.contains("source_guid"))
        link(item);
      else if (item.contains("physical_state") || item.contains("active_speed"))
        port(item);
      else if (item.contains("severity") && item.contains("description") && !item.contains("guid"))
        alarm(item);
      else if (item.contains("guid") && item.contains("system_name"))
        system(item);
      else
        refuse();
    }
    for (const auto& [a, b] : links_) {
      out_.tell(a, b);
      out_.tell(b, a);
    }
    out_.net.adapters_by_port = true;
    return out_.finish();
  }

 private:
  [[noreturn]] void refuse() const {
    throw UsageError(file_, fmt::format("element {}", number_ + 1), said("fabric.foreign_json"));
  }

  uint64_t guid_of(const Json& item, const char* name) const {
    const auto out = parse_hex(text_of(item, name));
    if (!out || *out == 0) refuse();
    return *out;
  }

  // A description of a switch's port may end in ":PORT".
  static std::string described(const Json& item, const char* name, bool is_switch) {
    std::string out = text_of(item, name);
    if (is_switch) out = out.substr(0, out.rfind(':'));
    return out == "N/A" ? "" : out;
  }

  NetEnd end(const Json& item, const std::string& side) {
    const auto name = [&](const char* what) { return side + what; };
    const std::string label = text_of(item, name("_port_dname").c_str());
    const std::string words = text_of(item, name("_port_node_description").c_str());
    // Of an adapter the label names it ("HCA-2/1"); of a switch it is the port.
    const bool is_switch = label.find("HCA") == std::string::npos &&
                           words.find(" mlx") == std::string::npos &&
                           words.find("HCA") == std::string::npos;
    const NetNodeKind kind = is_switch ? NetNodeKind::network_switch : NetNodeKind::adapter;
    const size_t node =
        out_.node(guid_of(item, name("_guid").c_str()), kind,
                  described(item, name("_port_node_description").c_str(), is_switch));
    const int port = number_of(item, name("_port").c_str());
    if (port < 1 || port > 254) refuse();
    NetNode& of = out_.net.nodes[node];
    of.ports = std::max(of.ports, port);
    return {node, port};
  }

  void link(const Json& item) {
    const NetEnd a = end(item, "source"), b = end(item, "destination");
    links_.emplace_back(a, b);
  }

  void port(const Json& item) {
    const bool is_switch = text_of(item, "description").find("Switch") != std::string::npos;
    const NetNodeKind kind = is_switch ? NetNodeKind::network_switch : NetNodeKind::adapter;
    const size_t node =
        out_.node(guid_of(item, "guid"), kind, described(item, "node_description", is_switch));
    const NetEnd at{node, number_of(item, "number")};
    if (at.port > 254) refuse();
    out_.net.nodes[node].ports = std::max(out_.net.nodes[node].ports, at.port);
    NetPort& port = out_.net.ports[at];
    const std::string logical = text_of(item, "logical_state");
    const std::string physical = text_of(item, "physical_state");
    port.state = logical == "Active"           ? 4
                 : logical == "Armed"          ? 3
                 : logical.starts_with("Init") ? 2
                 : logical == "Down"           ? 1
                                               : 0;
    port.physical = physical == "Active" || physical == "Link Up" || physical == "LinkUp" ? 5 : 0;
    port.width_supported = width_mask(item, "supported_width");
    port.width_enabled = width_mask(item, "enabled_width");
    port.speed_supported = speed_mask(item, "supported_speed");
    port.speed_enabled = speed_mask(item, "enabled_speed");
    port.mtu_bytes = number_of(item, "mtu");
    out_.net.knows.ports = true;
    out_.net.knows.mtus |= port.mtu_bytes > 0;
    const int lid = number_of(item, "lid");
    if (lid > 0 && lid <= 0xbfff) out_.net.lids[is_switch ? NetEnd{node, 0} : at] = lid;
    const std::string rate =
        width_of(text_of(item, "active_width")) + upper(text_of(item, "active_speed"));
    port.rate = parse_link_rate(rate);
  }

  void system(const Json& item) {
    const bool is_switch = text_of(item, "type") != "host";
    const size_t node = out_.node(guid_of(item, "guid"),
                                  is_switch ? NetNodeKind::network_switch : NetNodeKind::adapter,
                                  text_of(item, "system_name"));
    NetNode& out = out_.net.nodes[node];
    out.model = text_of(item, "model");
    out.firmware = text_of(item, "fw_version");
    if (out.firmware == "N/A") out.firmware.clear();
    out_.net.knows.firmware |= !out.firmware.empty();
  }

  void alarm(const Json& item) {
    out_.net.knows.alarms = true;
    const std::string severity = text_of(item, "severity");
    if (severity == "Info") return;
    std::string object = text_of(item, "object_path");
    if (object.empty()) object = text_of(item, "object_name");
    out_.net.alarms.push_back({object, text_of(item, "description"), severity});
  }

  const std::string& file_;
  size_t number_ = 0;
  NetBuilder out_;
  std::vector<std::pair<NetEnd, NetEnd>> links_;
};

}  // namespace

Net read_ufm(std::string_view text, const std::string& file) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  Json list;
  try {
    list = Json::parse(text);
  } catch (const Json::exception& e) {
    throw UsageError(file, "", said("fabric.bad_json", e.what()));
  }
  // Some versions wrap the list: {"data": […]}.
  if (list.is_object() && list.contains("data")) list = Json(list.at("data"));
  if (!list.is_array()) throw UsageError(file, "", said("fabric.foreign_json"));
  return UfmReader(file).read(list);
}

}  // namespace cb
