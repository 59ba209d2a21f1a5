#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/inventory.h"

namespace cb {

// The hosts that have the same value of one attribute. If a host has several parts of the kind, the
// value lists each part in order and counts equal neighbours: "400 Gb/s ×7, absent".
struct ValueGroup {
  Said text;                       // with units; "absent" and the reason if it could not be read
  std::vector<std::string> hosts;  // in the order given
  bool absent = false;             // no part of these hosts has the attribute
};

// One attribute over all hosts.
struct AttributeValues {
  std::string attribute;                    // "kind.attribute", "kind[id].attribute", "kind.count"
  std::vector<ValueGroup> groups;           // most hosts first; one group if all are equal
  std::optional<Said> majority = {};        // that more than half of the hosts have, if any
  std::vector<std::string> odd_hosts = {};  // hosts with another value; empty without a majority

  bool equal() const { return groups.size() <= 1; }
  // True if at least one host has the attribute.
  bool measured() const;
};

struct Uniformity {
  size_t hosts = 0;
  size_t compared = 0;                       // number of attributes compared
  std::vector<AttributeValues> differences;  // fewest odd hosts first; without majority last

  bool uniform() const { return differences.empty(); }
};

// An attribute that may differ between equal hosts, and why.
struct ExcludedAttribute {
  std::string_view attribute;  // "kind.attribute", "*.attribute" for every kind
  std::string_view reason;
};
std::span<const ExcludedAttribute> excluded_attributes();

// An attribute whose values within this share of their median count as equal, and why.
struct TolerantAttribute {
  std::string_view attribute;
  double share;
  std::string_view reason;
};
std::span<const TolerantAttribute> tolerant_attributes();

// Compares every attribute except the excluded ones. Parts of kinds whose id is a name (mount,
// library, driver, cache, hugepages) are compared by id, as "library[nccl].version". If hosts
// differ in the number of parts, differences that merely follow from that are not reported again.
// Virtual network interfaces are left out: they come and go with containers. O(hosts × attributes).
Uniformity compare_hosts(std::span<const HostInventory> hosts);

// Compares one attribute by its name, strictly: hosts with 7 and with 8 equal parts differ, and a
// host without the attribute is in a group of its own. Excluded attributes are compared too.
AttributeValues attribute_values(std::span<const HostInventory> hosts, std::string_view attribute);

}  // namespace cb
