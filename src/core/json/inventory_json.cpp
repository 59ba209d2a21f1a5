#include <nlohmann/json.hpp>

#include "core/inventory.h"
#include "core/json/document_parts.h"
#include "core/json/said_fields.h"

namespace cb {
namespace {

constexpr Field<Part> kPart[] = {
    field<&Part::kind>("kind"), field<&Part::id>("id"), field<&Part::attributes>("attributes"),
    field_unless_empty<&Part::unavailable>("unavailable"), say_field<&Part::unavailable>("say")};

}  // namespace

void read_value(Value from, Part& to) { read_object(from, kPart, to); }
nlohmann::json write_value(const Part& from) { return write_object(from, kPart); }

namespace {

constexpr Field<HostInventory> kHost[] = {field<&HostInventory::host>("host"),
                                          field<&HostInventory::parts>("parts")};

}  // namespace

void read_value(Value from, HostInventory& to) { read_object(from, kHost, to); }
nlohmann::json write_value(const HostInventory& from) { return write_object(from, kHost); }

nlohmann::json inventory_to_json(const HostInventory& inventory) { return write_value(inventory); }

HostInventory inventory_from_json(const nlohmann::json& json) {
  return read_tree<HostInventory>(json.dump());
}

}  // namespace cb
