#include "campaign/tool_json.h"

#include <nlohmann/json.hpp>

namespace cb {

nlohmann::json tool_to_json(const ToolInfo& tool) {
  return {{"version", tool.version},
          {"commit", tool.commit},
          {"dirty", tool.dirty},
          {"build", tool.build}};
}

ToolInfo tool_from_json(const nlohmann::json& json) {
  ToolInfo tool;
  tool.version = json.at("version").get<std::string>();
  tool.commit = json.at("commit").get<std::string>();
  tool.dirty = json.at("dirty").get<bool>();
  tool.build = json.at("build").get<std::map<std::string, std::string>>();
  return tool;
}

}  // namespace cb
