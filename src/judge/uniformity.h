#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/inventory.h"

namespace cb {

// The hosts that have the same value of one attribute. With several parts of the kind on a host the
// value is that of each part in order, equal neighbours counted: "400 Gb/s ×7, absent".
struct ValueGroup {
  Said text;                       // with units; "absent" and why where it could not be read
  std::vector<std::string> hosts;  // in the order given
  bool absent = false;             // no part of these hosts has the attribute
};

// One attribute over all hosts.
struct AttributeValues {
  std::string attribute;                    // "kind.attribute", "kind[id].attribute", "kind.count"
  std::vector<ValueGroup> groups;           // most hosts first; one group if all are equal
  std::optional<Said> majority = {};        // text of the value that more than half have
  std::vector<std::string> odd_hosts = {};  // those without it; empty if there is no majority

  bool equal() const { return groups.size() <= 1; }
  // At least one host has the attribute.
  bool measured() const;
};

struct Uniformity {
  size_t hosts = 0;
  size_t compared = 0;                       // attributes
  std::vector<AttributeValues> differences;  // fewest odd hosts first, those without majority last

  bool uniform() const { return differences.empty(); }
};

// An attribute that may differ between equal hosts, and why.
struct ExcludedAttribute {
  std::string_view attribute;  // "kind.attribute", "*.attribute" for every kind
  std::string_view reason;
};
std::span<const ExcludedAttribute> excluded_attributes();

// An attribute whose values count as equal to their median within this share, and why.
struct TolerantAttribute {
  std::string_view attribute;
  double share;
  std::string_view reason;
};
std::span<const TolerantAttribute> tolerant_attributes();

// Compares every attribute but the excluded ones. Parts of kinds whose id is a name (mount,
// library, driver, cache, hugepages) are compared id by id, as "library[nccl].version". Where hosts
// differ in the number of parts, what merely follows from that is not reported again. Virtual
// network interfaces are left out: they come and go with containers. O(hosts × attributes).
Uniformity compare_hosts(std::span<const HostInventory> hosts);

// One attribute by its name, strictly: hosts with 7 and with 8 equal parts differ, and a host
// without it is in a group of its own. Excluded attributes are answered too.
AttributeValues attribute_values(std::span<const HostInventory> hosts, std::string_view attribute);

}  // namespace cb
