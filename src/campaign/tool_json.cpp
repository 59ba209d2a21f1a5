#include "campaign/tool_json.h"

#include <nlohmann/json.hpp>

#include "core/json/json_read.h"

namespace cb {

nlohmann::json tool_to_json(const ToolInfo& tool) {
  return {{"version", tool.version},
          {"commit", tool.commit},
          {"dirty", tool.dirty},
          {"build", tool.build}};
}

ToolInfo tool_from_json(const nlohmann::json& json) {
  ToolInfo tool;
  tool.version = text_at(json, "version");
  tool.commit = text_at(json, "commit");
  tool.dirty = json.at("dirty").get<bool>();
  tool.build = texts_at(json, "build");
  return tool;
}

}  // namespace cb
