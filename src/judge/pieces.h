// Parts of hosts that have a serial number of their own, as a delivery list counts them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/inventory.h"

namespace cb {

struct Piece {
  std::string host;
  std::string kind;            // as asset_parts()
  std::string id;              // of its part
  std::string slot;            // its PCI address; else the id
  std::string serial;          // empty: not read
  Said why = {};               // it was not read
  const Part* part = nullptr;  // points into the inventory
};

// Returns the pieces of the hosts, in their order. The ports of one adapter, which RDMA and
// Ethernet both show, are one piece. An adapter without any serial number (on the mainboard) is
// none.
std::vector<Piece> pieces_of(std::span<const HostInventory> hosts);

// Returns what the piece calls itself: its model, product or part number, each if it has one.
std::vector<std::string> models_of(const Piece& piece);

}  // namespace cb
