#include "core/result.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/json/document_reader.h"
#include "core/json/json_read.h"
#include "core/json/json_text.h"
#include "core/json/record_json.h"
#include "core/json/said_json.h"

namespace cb {
namespace {

using nlohmann::json;

json tool_to_json(const ToolInfo& t) {
  return {{"version", t.version}, {"commit", t.commit}, {"dirty", t.dirty}, {"build", t.build}};
}

ToolInfo tool_from_json(const json& j) {
  if (!j.contains("dirty") || !j["dirty"].is_boolean())
    throw Error("tool.dirty is neither true nor false");
  return {.version = text_at(j, "version"),
          .commit = text_at(j, "commit"),
          .dirty = j["dirty"].get<bool>(),
          .build = texts_at(j, "build")};
}

json run_to_json(const RunInfo& r) {
  json out = {{"id", r.id},       {"started", r.started},        {"ended", r.ended},
              {"argv", r.argv},   {"launcher", r.launcher},      {"ranks", r.ranks},
              {"hosts", r.hosts}, {"environment", r.environment}};
  if (r.partial) {
    out["partial"] = r.partial->text();
    add_say(out, *r.partial);
  }
  return out;
}

RunInfo run_from_json(const json& j) {
  RunInfo r{.id = text_at(j, "id"),
            .started = text_at(j, "started"),
            .ended = text_at(j, "ended"),
            .argv = text_list_at(j, "argv"),
            .launcher = text_at(j, "launcher"),
            .hosts = text_list_at(j, "hosts"),
            .environment = texts_at(j, "environment")};
  const int64_t ranks = whole_number(j.at("ranks"), "run.ranks");
  if (ranks < 1 || ranks > std::numeric_limits<int>::max())
    throw Error("run.ranks is not a number of processes");
  r.ranks = static_cast<int>(ranks);
  if (j.contains("partial")) r.partial = with_say(text_at(j, "partial"), j);
  return r;
}

// A record that failed or was skipped must have no number.
Record consistent_record(const json& j) {
  Record r = record_from_json(j);
  if (!r.measured() && !r.metrics.empty())
    throw Error("has metrics, though its outcome is not measured");
  return r;
}

Document document_from_json(const json& j, int version) {
  return {.version = version,
          .tool = tool_from_json(object_at(j, "tool")),
          .run = run_from_json(object_at(j, "run")),
          .hosts = read_each<HostInventory>(j, "hosts", inventory_from_json),
          .records = read_each<Record>(j, "records", consistent_record)};
}

}  // namespace

namespace {

// Names the sender of a pair: the id is its NIC or rank, alone or with its host in front.
std::string sender_name(const Entity& e) {
  if (e.id.empty()) return e.host;
  if (e.id.starts_with(e.host)) return e.id;
  return e.host + (e.id.starts_with("rank ") ? " " : ":") + e.id;
}

}  // namespace

std::string entity_name(const Entity& e) {
  if (e.kind == "cluster") return "cluster";
  if (e.kind == "pair" && e.peer) return fmt::format("{} → {}", sender_name(e), *e.peer);
  if (e.kind == "host" || e.id.empty()) return e.host;
  return fmt::format("{}:{}", e.host, e.id);
}

size_t Record::entity(const Entity& wanted) {
  const auto found = std::find(entities.begin(), entities.end(), wanted);
  if (found != entities.end()) return static_cast<size_t>(found - entities.begin());
  entities.push_back(wanted);
  return entities.size() - 1;
}

Metric& Record::add(std::string metric, size_t of, Samples samples,
                    std::optional<Ceiling> ceiling) {
  metrics.push_back({.name = std::move(metric),
                     .unit = {},
                     .entity = of,
                     .samples = std::move(samples),
                     .ceiling = std::move(ceiling)});
  return metrics.back();
}

const Metric* Record::find(std::string_view metric) const {
  const auto found = std::find_if(metrics.begin(), metrics.end(),
                                  [&](const Metric& m) { return m.name == metric; });
  return found == metrics.end() ? nullptr : &*found;
}

const Metric* Record::find(std::string_view metric, size_t of) const {
  const auto found = std::find_if(metrics.begin(), metrics.end(), [&](const Metric& m) {
    return m.entity == of && m.name == metric;
  });
  return found == metrics.end() ? nullptr : &*found;
}

std::string to_json_text(const Document& d) {
  json out = {{"schema", fmt::format("{}/{}", kResultSchema, kResultVersion)},
              {"tool", tool_to_json(d.tool)},
              {"run", run_to_json(d.run)},
              {"hosts", json::array()},
              {"records", json::array()}};
  for (const HostInventory& h : d.hosts) out["hosts"].push_back(inventory_to_json(h));
  for (const Record& r : d.records) out["records"].push_back(record_to_json(r));
  return dump_json(out);
}

Document parse_document(std::string_view text, const std::string& source, bool inventories) {
  if (auto document = read_document_quickly(text, inventories)) return std::move(*document);
  const json j = parse_json(text, source);
  const int version = require_schema(j, kResultSchema, kResultVersion, source);
  try {
    return document_from_json(j, version);
  } catch (const UsageError&) {
    throw;
  } catch (const std::exception& e) {
    throw UsageError(source, "",
                     fmt::format("is not a usable result document: {}", reading_problem(e)));
  }
}

}  // namespace cb
