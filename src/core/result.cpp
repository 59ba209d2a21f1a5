#include "core/result.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "core/record_json.h"

namespace cb {
namespace {

using nlohmann::json;

constexpr std::string_view kSchemaName = "clusterbench.result";
constexpr int kSchemaVersion = 1;

json tool_to_json(const ToolInfo& t) {
  return {{"version", t.version}, {"commit", t.commit}, {"dirty", t.dirty}, {"build", t.build}};
}

ToolInfo tool_from_json(const json& j) {
  return {.version = j.at("version").get<std::string>(),
          .commit = j.at("commit").get<std::string>(),
          .dirty = j.at("dirty").get<bool>(),
          .build = j.at("build").get<std::map<std::string, std::string>>()};
}

json run_to_json(const RunInfo& r) {
  json out = {{"id", r.id},       {"started", r.started},        {"ended", r.ended},
              {"argv", r.argv},   {"launcher", r.launcher},      {"ranks", r.ranks},
              {"hosts", r.hosts}, {"environment", r.environment}};
  if (r.partial) out["partial"] = *r.partial;
  return out;
}

RunInfo run_from_json(const json& j) {
  RunInfo r{.id = j.at("id").get<std::string>(),
            .started = j.at("started").get<std::string>(),
            .ended = j.at("ended").get<std::string>(),
            .argv = j.at("argv").get<std::vector<std::string>>(),
            .launcher = j.at("launcher").get<std::string>(),
            .ranks = j.at("ranks").get<int>(),
            .hosts = j.at("hosts").get<std::vector<std::string>>(),
            .environment = j.at("environment").get<std::map<std::string, std::string>>()};
  if (r.ranks < 1) throw Error("run.ranks is below 1");
  if (j.contains("partial")) r.partial = j["partial"].get<std::string>();
  return r;
}

Document document_from_json(const json& j) {
  Document d{.tool = tool_from_json(j.at("tool")), .run = run_from_json(j.at("run"))};
  for (const json& h : j.at("hosts")) d.hosts.push_back(inventory_from_json(h));
  for (const json& r : j.at("records")) d.records.push_back(record_from_json(r));
  return d;
}

}  // namespace

std::string entity_name(const Entity& e) {
  if (e.kind == "cluster") return "cluster";
  if (e.kind == "pair" && e.peer)
    return fmt::format("{} → {}", e.id.empty() ? e.host : e.id, *e.peer);
  if (e.kind == "host" || e.id.empty()) return e.host;
  return fmt::format("{}:{}", e.host, e.id);
}

size_t Record::entity(const Entity& wanted) {
  const auto found = std::find(entities.begin(), entities.end(), wanted);
  if (found != entities.end()) return static_cast<size_t>(found - entities.begin());
  entities.push_back(wanted);
  return entities.size() - 1;
}

std::string to_json_text(const Document& d) {
  json out = {{"schema", fmt::format("{}/{}", kSchemaName, kSchemaVersion)},
              {"tool", tool_to_json(d.tool)},
              {"run", run_to_json(d.run)},
              {"hosts", json::array()},
              {"records", json::array()}};
  for (const HostInventory& h : d.hosts) out["hosts"].push_back(inventory_to_json(h));
  for (const Record& r : d.records) out["records"].push_back(record_to_json(r));
  return dump_json(out);
}

Document parse_document(std::string_view text, const std::string& source) {
  const json j = parse_json(text, source);
  require_schema(j, kSchemaName, kSchemaVersion, source);
  try {
    return document_from_json(j);
  } catch (const UsageError&) {
    throw;
  } catch (const std::exception& e) {
    throw UsageError(source, "", fmt::format("is not a usable result document: {}", e.what()));
  }
}

}  // namespace cb
