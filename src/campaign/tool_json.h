#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"

namespace cb {

nlohmann::json tool_to_json(const ToolInfo& tool);
// Throws if a member is absent or of another type.
ToolInfo tool_from_json(const nlohmann::json& json);

}  // namespace cb
