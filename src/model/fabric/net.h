// An InfiniBand subnet as somebody saw it: nodes, links and what is known of both. Pure data.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/messages/said.h"

namespace cb {

enum class NetNodeKind { adapter, network_switch, router };

struct NetNode {
  std::string id;  // with its GUID, as the dump writes it: "S-…", "H-…"
  NetNodeKind kind = NetNodeKind::adapter;
  std::string name;  // its description; the id where it has none
  int ports = 0;

  // A SHARP aggregation node: an adapter inside of a switch, no host's.
  bool aggregates() const;
  // Of an adapter whose description is "host nic": each of both; else the name and nothing.
  std::string host() const;
  std::string nic() const;
};

struct NetEnd {
  size_t node = 0;  // index into Net::nodes
  int port = 0;
  auto operator<=>(const NetEnd&) const = default;
};

struct LinkRate {
  int lanes = 0;
  double lane_bits_per_second = 0;  // on the wire
  std::string text;                 // "4xNDR"

  double bits_per_second() const { return lanes * lane_bits_per_second; }
};

// Reads "4xNDR", "2xHDR", "1xFDR10"; nothing for another text. Rates of a lane: InfiniBand
// Architecture Specification, volume 2, and for NDR and XDR the IBTA roadmap.
std::optional<LinkRate> parse_link_rate(const std::string& text);

struct NetLink {
  NetEnd a, b;  // a < b
  std::optional<LinkRate> rate;
};

struct Net {
  std::vector<NetNode> nodes;
  std::vector<NetLink> links;
  std::map<NetEnd, int> lids;  // of a switch at its port 0
  // Ends that tell of a link of which the other end does not: the dump is cut off, or two devices
  // have one GUID.
  std::vector<NetLink> one_sided;
  std::vector<std::string> doubled;  // ids of which the dump has several sections

  std::string end_name(const NetEnd& end) const;  // "leaf-03 port 5"
  std::string link_name(const NetLink& link) const;
};

// Reads what `ibnetdiscover` prints. Lines that are none of its own are passed over. Throws
// UsageError with `file` and the line where a section cannot be read, or if there is no node.
Net read_ibnetdiscover(const std::string& text, const std::string& file);

}  // namespace cb
