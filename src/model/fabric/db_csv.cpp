// ibdiagnet2.db_csv: sections START_NAME … END_NAME, each with a head line. Codes are those of the
// attributes; a speed has the code of FDR and faster in its second byte.
#include <algorithm>
#include <charconv>
#include <set>

#include <fmt/format.h>

#include "core/csv_fields.h"
#include "core/error.h"
#include "model/fabric/mad.h"
#include "model/fabric/net_builder.h"
#include "model/fabric/readers.h"

namespace cb {
namespace {

// Numbers are decimal, or hexadecimal after 0x.
std::optional<uint64_t> db_number(const std::string& text) {
  if (text.starts_with("0x")) return parse_hex(text);
  uint64_t out = 0;
  const auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (text.empty() || code != std::errc{} || rest != text.data() + text.size()) return std::nullopt;
  return out;
}

class DbCsvReader {
 public:
  explicit DbCsvReader(const std::string& file) : file_(file) {}

  Net read(std::string_view text) {
    each_line(text, [&](std::string_view line, size_t number) {
      number_ = number;
      take(line);
    });
    if (!section_.empty()) throw UsageError(file_, "", said("fabric.cut_off"));
    if (out_.net.nodes.empty()) throw UsageError(file_, "", said("fabric.no_node"));
    for (const auto& [a, b] : links_) {
      out_.tell(a, b, rates_[a]);
      out_.tell(b, a, rates_[b]);
    }
    return out_.finish();
  }

 private:
  void take(std::string_view line) {
    if (line.starts_with("START_")) {
      section_ = line.substr(6);
      columns_.clear();
      return;
    }
    if (line.starts_with("END_")) {
      section_.clear();
      return;
    }
    if (section_.empty() || line.empty()) return;
    if (columns_.empty()) {
      columns_ = csv_fields(line);
      return;
    }
    fields_ = csv_fields(line);
    if (section_ == "NODES")
      node();
    else if (section_ == "PORTS")
      port();
    else if (section_ == "LINKS")
      link();
    else if (section_ == "PM_INFO")
      counters();
    else if (section_ == "NODES_INFO")
      firmware();
    else if (section_ == "SM_INFO")
      manager();
  }

  const std::string* field(const char* name) const {
    const auto at = static_cast<size_t>(std::ranges::find(columns_, name) - columns_.begin());
    return at < columns_.size() && at < fields_.size() ? &fields_[at] : nullptr;
  }
  std::optional<uint64_t> value(const char* name) const {
    const std::string* text = field(name);
    return text == nullptr ? std::nullopt : db_number(*text);
  }
  uint64_t needed(const char* name, const char* other = nullptr) const {
    auto out = value(name);
    if (!out && other != nullptr) out = value(other);
    if (!out) refuse_line(file_, number_, said("fabric.bad_csv", section_, name));
    return *out;
  }
  int small(const char* name) const { return static_cast<int>(value(name).value_or(0)); }
  int port_number(const char* name, const char* other = nullptr) const {
    const uint64_t out = needed(name, other);
    if (out > 254) refuse_line(file_, number_, said("fabric.bad_csv", section_, name));
    return static_cast<int>(out);
  }

  void node() {
    const uint64_t type = needed("NodeType");
    const NetNodeKind kind = type == 2   ? NetNodeKind::network_switch
                             : type == 1 ? NetNodeKind::adapter
                                         : NetNodeKind::router;
    const std::string* name = field("NodeDesc");
    const size_t at = out_.node(needed("NodeGUID"), kind, name == nullptr ? "" : *name,
                                std::min(small("NumPorts"), 254));
    NetNode& node = out_.net.nodes[at];
    node.system_guid = value("SystemImageGUID").value_or(0);
    node.vendor = static_cast<uint32_t>(value("VendorID").value_or(0));
    node.device = static_cast<uint32_t>(value("DeviceID").value_or(0));
  }

  // An end of a device that NODES names.
  std::optional<NetEnd> end(const char* guid, const char* other_guid, const char* port) const {
    const auto node = out_.find(needed(guid, other_guid));
    if (!node) return std::nullopt;
    return NetEnd{*node, port_number(port, "PortNumber")};
  }

  static unsigned speeds(uint64_t code) {
    return static_cast<unsigned>((code & 7U) | (code >> 8U & 0x0fU) << 4U |
                                 (code >> 16U & 1U) << 8U);
  }

  void port() {
    const auto at = end("NodeGuid", "NodeGUID", "PortNum");
    if (!at) return;
    const bool is_switch = out_.net.nodes[at->node].kind == NetNodeKind::network_switch;
    NetPort& port = out_.net.ports[*at];
    port.state = small("PortState");
    port.physical = small("PortPhyState");
    port.width_supported = static_cast<unsigned>(small("LinkWidthSup"));
    port.width_enabled = static_cast<unsigned>(small("LinkWidthEn"));
    port.speed_supported = speeds(value("LinkSpeedSup").value_or(0));
    port.speed_enabled = speeds(value("LinkSpeedEn").value_or(0));
    port.mtu_bytes = mtu_bytes(small("NMTU"));
    port.mtu_cap_bytes = mtu_bytes(small("MTUCap"));
    port.manager_lid = small("MSMLID");
    port.runs_manager = (value("CapMsk").value_or(0) & 2U) != 0;
    port.guid = value("PortGuid").value_or(0);
    out_.net.knows.ports = true;
    out_.net.knows.mtus |= port.mtu_bytes > 0;
    const int lid = small("LID");
    if (lid > 0 && lid <= 0xbfff && (!is_switch || at->port == 0)) {
      out_.net.lids[*at] = lid;
      if (small("LMC") > 0) out_.net.lid_masks[*at] = small("LMC");
    }
    const uint64_t active = value("LinkSpeedActv").value_or(0);
    // An extended speed counts alone.
    const unsigned speed = speeds(active >= 0x100 ? active & ~uint64_t{7} : active);
    if (port.physical == 5)
      rates_[*at] = best_rate(static_cast<unsigned>(small("LinkWidthActv")), speed, 12);
  }

  static int mtu_bytes(int code) { return code >= 1 && code <= 5 ? 128 << code : 0; }

  void link() {
    const auto a = out_.find(needed("NodeGuid1", "NodeGUID1"));
    const auto b = out_.find(needed("NodeGuid2", "NodeGUID2"));
    if (!a || !b) refuse_line(file_, number_, said("fabric.bad_csv", section_, "NodeGuid1"));
    links_.emplace_back(NetEnd{*a, port_number("PortNum1")}, NetEnd{*b, port_number("PortNum2")});
  }

  // The wider counter where there are two.
  void counters() {
    const auto at = end("NodeGUID", "NodeGuid", "PortNumber");
    if (!at) return;
    PortCounts& counts = out_.net.ports[*at].counts;
    for (size_t i = 0; i < columns_.size() && i < fields_.size(); ++i) {
      std::string name = columns_[i];
      bool wide = false;
      for (const std::string_view ending : {"Extended", "Ext"}) {
        if (!wide && name.ends_with(ending)) {
          name.resize(name.size() - ending.size());
          wide = true;
        }
      }
      if (counter_limit(name) == 0) continue;
      const auto count = db_number(fields_[i]);
      if (!count || (wide && *count == 0xfffffffffffffffe)) continue;
      if (wide)
        counts[name] = *count;
      else
        counts.try_emplace(name, *count);
    }
    out_.net.knows.counters = true;
  }

  void firmware() {
    const auto node = out_.find(needed("NodeGUID", "NodeGuid"));
    if (!node) return;
    for (const char* prefix : {"FWInfo_Extended_", "FWInfo_"}) {
      const auto part = [&](const char* name) {
        return value((prefix + std::string(name)).c_str());
      };
      const auto major = part("Major");
      if (!major || *major == 0) continue;
      out_.net.nodes[*node].firmware =
          fmt::format("{}.{}.{}", *major, part("Minor").value_or(0), part("SubMinor").value_or(0));
      out_.net.knows.firmware = true;
      return;
    }
  }

  void manager() {
    const auto at = end("NodeGUID", "NodeGuid", "PortNumber");
    if (!at) return;
    const auto lid = out_.net.lids.find(*at);
    // Its state may be a number or a word.
    const std::string* state = field("SmState");
    const auto code = state == nullptr ? std::nullopt : db_number(*state);
    SubnetManager manager{.at = *at, .lid = lid == out_.net.lids.end() ? 0 : lid->second};
    if (code)
      manager.state = static_cast<int>(*code);
    else if (state != nullptr)
      manager.state = state->find("MASTER") != std::string::npos    ? 3
                      : state->find("STANDBY") != std::string::npos ? 2
                                                                    : 0;
    manager.priority = small("Priority");
    out_.net.managers.push_back(manager);
    out_.net.knows.managers = true;
  }

  const std::string& file_;
  size_t number_ = 0;
  std::string section_;
  std::vector<std::string> columns_, fields_;
  NetBuilder out_;
  std::vector<std::pair<NetEnd, NetEnd>> links_;
  std::map<NetEnd, std::optional<LinkRate>> rates_;
};

}  // namespace

Net read_db_csv(std::string_view text, const std::string& file) {
  return DbCsvReader(file).read(text);
}

}  // namespace cb
