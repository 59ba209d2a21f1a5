// The cache of libibnetdisc, version 1, little endian: a header, nodes with the keys of their
// ports, ports with their PortInfo and the key of the other end.
#include <cstring>

#include <fmt/format.h>

#include "core/error.h"
#include "model/fabric/mad.h"
#include "model/fabric/net_builder.h"
#include "model/fabric/readers.h"

namespace cb {
namespace {

constexpr size_t kAttributeBytes = 64;
using PortKey = std::pair<uint64_t, int>;  // GUID and number

class CacheReader {
 public:
  CacheReader(std::string_view bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  Net read() {
    at_ = 4;  // the magic number, by which the file was known
    const auto version = number(4);
    if (version != 1) refuse(said("fabric.cache_version", version));
    const auto nodes = number(4), ports = number(4);
    number(8);  // from which node it was written
    number(4);  // hops
    for (uint64_t i = 0; i < nodes; ++i) read_node();
    for (uint64_t i = 0; i < ports; ++i) read_port();
    for (const auto& [from, to] : remote_) {
      const auto a = ends_.find(from), b = ends_.find(to);
      if (a != ends_.end() && b != ends_.end()) out_.tell(a->second, b->second, rates_[a->second]);
    }
    out_.net.knows.ports = out_.net.knows.mtus = true;
    return out_.finish();
  }

 private:
  [[noreturn]] void refuse(const Said& why) const {
    throw UsageError(file_, fmt::format("byte {}", at_), why);
  }

  uint64_t number(size_t bytes) {
    if (at_ + bytes > bytes_.size()) refuse(said("fabric.cut_off"));
    uint64_t out = 0;
    for (size_t i = bytes; i-- > 0;) out = out << 8 | static_cast<uint8_t>(bytes_[at_ + i]);
    at_ += bytes;
    return out;
  }

  // An attribute as it came, in the place where decoders look for it.
  Mad attribute() {
    if (at_ + kAttributeBytes > bytes_.size()) refuse(said("fabric.cut_off"));
    Mad out{};
    std::memcpy(out.data() + kAttributeBytes, bytes_.data() + at_, kAttributeBytes);
    at_ += kAttributeBytes;
    return out;
  }

  void read_node() {
    const auto lid = static_cast<int>(number(2));
    const auto mask = static_cast<int>(number(1));
    number(1);    // whether port 0 is enhanced
    attribute();  // SwitchInfo
    const uint64_t guid = number(8);
    number(1);  // kind and number of ports are in NodeInfo too
    number(1);
    const auto info = decode_node_info(attribute());
    const std::string name = decode_description(attribute());
    const auto keys = number(1);
    for (uint64_t i = 0; i < keys; ++i) number(9);
    if (!info) refuse(said("fabric.bad_cache"));
    const size_t node = out_.node(guid, info->kind, name, info->ports);
    NetNode& net_node = out_.net.nodes[node];
    net_node.system_guid = info->system_guid;
    net_node.vendor = info->vendor;
    net_node.device = info->device;
    if (info->kind == NetNodeKind::network_switch && lid > 0) {
      out_.net.lids[{node, 0}] = lid;
      if (mask > 0) out_.net.lid_masks[{node, 0}] = mask;
    }
  }

  void read_port() {
    const uint64_t guid = number(8);
    const auto port = static_cast<int>(number(1));
    number(1);  // its number outside of a chassis
    const auto lid = static_cast<int>(number(2));
    const auto mask = static_cast<int>(number(1));
    const Mad raw = attribute();
    const uint64_t node_guid = number(8);
    const bool linked = number(1) != 0;
    const PortKey far{number(8), static_cast<int>(number(1))};
    const auto node = out_.find(node_guid);
    if (!node) refuse(said("fabric.bad_cache"));
    const bool is_switch = out_.net.nodes[*node].kind == NetNodeKind::network_switch;
    // Of a switch only port 0 says whether it has extended speeds; the others' fields are 0 if not.
    const PortInfo info =
        decode_port_info(raw, is_switch ? std::optional<bool>(true) : std::nullopt);
    const NetEnd end{*node, port};
    ends_[{guid, port}] = end;
    out_.net.ports[end] = info.port;
    out_.net.ports[end].guid = guid;
    if (!is_switch && lid > 0) out_.net.lids[end] = lid;
    if (!is_switch && mask > 0) out_.net.lid_masks[end] = mask;
    if (!linked) return;
    rates_[end] = active_rate(info);
    remote_.emplace_back(PortKey{guid, port}, far);
  }

  std::string_view bytes_;
  const std::string& file_;
  size_t at_ = 0;
  NetBuilder out_;
  std::map<PortKey, NetEnd> ends_;
  std::map<NetEnd, std::optional<LinkRate>> rates_;
  std::vector<std::pair<PortKey, PortKey>> remote_;
};

}  // namespace

Net read_cache(std::string_view bytes, const std::string& file) {
  return CacheReader(bytes, file).read();
}

}  // namespace cb
