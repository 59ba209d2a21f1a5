// Limits of this process and the state of the clock.
#include "core/units.h"
#include "sys/inventory/collect.h"
#include "sys/inventory/fields.h"
#include "sys/inventory/machine.h"

namespace cb::inventory {
namespace {

// Returns the soft limit in a line such as "Max locked memory  65536  65536  bytes".
std::optional<Attribute> soft_limit(const std::string& text, std::string_view name) {
  for (const std::string& line : lines(text)) {
    if (!line.starts_with(name)) continue;
    const auto cells = words(std::string_view(line).substr(name.size()));
    if (cells.empty()) return std::nullopt;
    if (cells[0] == "unlimited") return Attribute(cells[0]);
    const auto value = parse_integer(cells[0]);
    return value ? std::optional<Attribute>(*value) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::vector<Part> limit_parts(const FsRoot& fs) {
  const auto text = fs.text("/proc/self/limits");
  if (!text) return {};
  Part part{.kind = "limits", .id = "0"};
  put(part, "memlock_bytes", soft_limit(*text, "Max locked memory"));
  put(part, "open_files", soft_limit(*text, "Max open files"));
  put(part, "processes", soft_limit(*text, "Max processes"));
  put(part, "stack_bytes", soft_limit(*text, "Max stack size"));
  return {part};
}

std::vector<Part> clock_parts(const FsRoot& fs) {
  Part part{.kind = "clock", .id = "0"};
  put_file(part, "source", fs, "/sys/devices/system/clocksource/clocksource0/current_clocksource");
  if (const auto state = fs.is_machine() ? clock_state() : std::nullopt) {
    part.attributes["synchronised"] = state->synchronised;
    // The errors of an unsynchronised clock mean nothing.
    if (state->synchronised) {
      part.attributes["max_error_seconds"] = state->max_error_seconds;
      part.attributes["estimated_error_seconds"] = state->estimated_error_seconds;
    }
  }
  if (part.attributes.empty()) return {};
  return {part};
}

}  // namespace cb::inventory
