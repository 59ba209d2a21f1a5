#include "core/inventory.h"

#include <cmath>
#include <type_traits>

#include <fmt/format.h>

#include "core/units.h"

namespace cb {
namespace {

const Attribute* find_attribute(const Part* part, std::string_view name) {
  if (part == nullptr) return nullptr;
  const auto found = part->attributes.find(std::string(name));
  return found == part->attributes.end() ? nullptr : &found->second;
}

}  // namespace

const Part* HostInventory::find(std::string_view kind, std::string_view id) const {
  for (const Part& part : parts) {
    if (part.kind == kind && (id.empty() || part.id == id)) return &part;
  }
  return nullptr;
}

std::vector<const Part*> HostInventory::all(std::string_view kind) const {
  std::vector<const Part*> out;
  for (const Part& part : parts) {
    if (part.kind == kind) out.push_back(&part);
  }
  return out;
}

std::string attribute_text(const Attribute& attribute) {
  if (const bool* b = std::get_if<bool>(&attribute)) return *b ? "yes" : "no";
  return std::visit([](const auto& v) { return fmt::format("{}", v); }, attribute);
}

std::string attribute_display(std::string_view name, const Attribute& attribute) {
  if (std::holds_alternative<bool>(attribute) || std::holds_alternative<std::string>(attribute))
    return attribute_text(attribute);
  const double value = std::visit(
      [](const auto& v) {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(v)>>)
          return static_cast<double>(v);
        else
          return 0.0;
      },
      attribute);
  // People know a size such as an MTU of 9000 bytes by its exact number.
  if (name.ends_with("_bytes") && value < 65536 && std::fmod(value, 1024) != 0)
    return fmt::format("{} B", value);
  for (const std::string_view unit :
       {"bytes_per_second", "bits_per_second", "bytes", "seconds", "hertz", "watts", "celsius"}) {
    if (name.ends_with(unit)) return format_value(value, unit);
  }
  return attribute_text(attribute);
}

std::optional<std::string> text_of(const Part* part, std::string_view attribute) {
  const Attribute* found = find_attribute(part, attribute);
  if (found == nullptr) return std::nullopt;
  return attribute_text(*found);
}

std::optional<double> number_of(const Part* part, std::string_view attribute) {
  const Attribute* found = find_attribute(part, attribute);
  if (found == nullptr) return std::nullopt;
  if (const auto* i = std::get_if<int64_t>(found)) return static_cast<double>(*i);
  if (const auto* d = std::get_if<double>(found)) return *d;
  return std::nullopt;
}

}  // namespace cb
