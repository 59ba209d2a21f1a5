#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace cb {

// Levels of lists and objects; of a stranger's file, each costs stack.
constexpr int kMaxJsonDepth = 64;

// Parses JSON; `source` names the file. Throws UsageError with line and column for anything
// malformed, truncated, with duplicate keys or nested beyond 64 levels.
nlohmann::json parse_json(std::string_view text, const std::string& source);

// One-space indented, keys sorted, doubles shortest-round-trip, a newline at the end; invalid UTF-8
// is replaced.
std::string dump_json(const nlohmann::json& json);

// The version. Throws UsageError unless json["schema"] is "<name>/<v>" with 1 <= v <= newest; says
// so when it is newer or foreign.
int require_schema(const nlohmann::json& json, std::string_view name, int newest,
                   const std::string& source);
// The same of what stands there, if a text does.
int require_schema_text(const std::optional<std::string>& stated, std::string_view name, int newest,
                        const std::string& source);

}  // namespace cb
