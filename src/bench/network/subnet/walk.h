// Nodes, ports and links by directed routes, breadth first.
#pragma once

#include <unordered_map>

#include "bench/network/subnet/mad_exchange.h"

namespace cb::net {

// The maker whose devices answer the vendor's class.
constexpr uint32_t kMellanoxVendor = 0x0002c9;

// What later questions need to know of a node.
struct WalkedNode {
  MadPath path;
  NodeInfo info;
  bool extended_speeds = false;
  int table_top = -1;  // of a switch: its largest LID
};

struct Walk {
  Net net;
  std::vector<WalkedNode> nodes;  // beside Net::nodes
};

// Asks every node for NodeInfo, NodeDescription, SwitchInfo and PortInfo, and follows every link
// that is up. A GUID that is met with another identity, or whose port has two neighbours, is
// doubled.
Walk walk_subnet(MadExchange& exchange, uint64_t key);

}  // namespace cb::net
