#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/messages/said.h"

namespace cb {

using Attribute = std::variant<bool, int64_t, double, std::string>;

// One part of a host. Its kind is "cpu", "memory", "numa", "nic", "rdma", "gpu", "nvme", "mount",
// "system", "library", …; its attributes have the unit in their names ("rate_bits_per_second"). An
// attribute that could not be read is not in `attributes`; if the reason is known, it is in
// `unavailable`.
struct Part {
  std::string kind;
  std::string id;
  std::map<std::string, Attribute> attributes = {};
  std::map<std::string, Said> unavailable = {};
};

// The parts of one host in a fixed order (kinds as collected, ids ascending), so that hosts can be
// compared.
struct HostInventory {
  std::string host;
  std::vector<Part> parts = {};

  const Part* find(std::string_view kind,
                   std::string_view id = {}) const;  // id empty: the first of that kind
  std::vector<const Part*> all(std::string_view kind) const;
};

std::string attribute_text(const Attribute& attribute);
// Formats an attribute for people: a number in the unit at the end of the attribute's name
// ("rate_bits_per_second"), else attribute_text().
std::string attribute_display(std::string_view name, const Attribute& attribute);
std::optional<std::string> text_of(const Part* part, std::string_view attribute);
// Returns the attribute as a number; nothing if it is absent or a text.
std::optional<double> number_of(const Part* part, std::string_view attribute);

nlohmann::json inventory_to_json(const HostInventory& inventory);
HostInventory inventory_from_json(const nlohmann::json& json);

}  // namespace cb
