#include "core/result.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/json/document_parts.h"
#include "core/json/json_text.h"
#include "core/json/said_fields.h"

namespace cb {
namespace {

using nlohmann::json;

constexpr Field<ToolInfo> kTool[] = {
    field<&ToolInfo::version>("version"), field<&ToolInfo::commit>("commit"),
    field<&ToolInfo::dirty>("dirty"), field<&ToolInfo::build>("build")};

void read_ranks(Value from, RunInfo& to) {
  uint64_t ranks = 0;
  read_value(from, ranks);
  if (ranks < 1 || ranks > uint64_t{std::numeric_limits<int>::max()})
    refuse("is not a number of processes");
  to.ranks = static_cast<int>(ranks);
}

constexpr Field<RunInfo> kRun[] = {
    field<&RunInfo::id>("id"),
    field<&RunInfo::started>("started"),
    field<&RunInfo::ended>("ended"),
    field<&RunInfo::argv>("argv"),
    field<&RunInfo::launcher>("launcher"),
    {"ranks", Need::required, read_ranks, [](const RunInfo& from) { return json(from.ranks); }},
    field<&RunInfo::hosts>("hosts"),
    field<&RunInfo::environment>("environment"),
    field<&RunInfo::partial>("partial"),
    say_field<&RunInfo::partial>("say")};

}  // namespace

void read_value(Value from, ToolInfo& to) { read_object(from, kTool, to); }
json write_value(const ToolInfo& from) { return write_object(from, kTool); }

void read_value(Value from, RunInfo& to) { read_object(from, kRun, to); }
json write_value(const RunInfo& from) { return write_object(from, kRun); }

namespace {

constexpr Field<Document> kDocument[] = {
    {"schema", Need::required, [](Value, Document&) {},  // read before everything else
     [](const Document&) { return json(fmt::format("{}/{}", kResultSchema, kResultVersion)); }},
    field<&Document::tool>("tool"),
    field<&Document::run>("run"),
    field<&Document::hosts>("hosts"),
    field<&Document::records>("records")};

std::optional<std::string> schema_of(Value document) {
  std::string_view out;
  if (!document.is_object() || document.at_key("schema").get(out) != simdjson::SUCCESS) return {};
  return std::string(out);
}

// The parser of trees says where, in line and column.
[[noreturn]] void refuse_text(std::string_view text, const std::string& source) {
  parse_json(text, source);
  throw UsageError(source, "",
                   "is nested too deeply, or holds a number or a text that cannot be read");
}

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
  if (e.host.empty()) return e.id;  // of no host: a switch, a link of the subnet
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

std::string to_json_text(const Document& d) { return dump_json(write_object(d, kDocument)); }

Document parse_document(std::string_view text, const std::string& source, bool inventories) {
  const std::optional<Value> root = parse_value(text);
  if (!root) refuse_text(text, source);
  Document out;
  out.version = require_schema_text(schema_of(*root), kResultSchema, kResultVersion, source);
  try {
    read_object(*root, kDocument, out, inventories ? "" : "hosts");
  } catch (const Refusal& r) {
    throw UsageError(source, "", "is not a usable result document: " + r.text());
  }
  return out;
}

}  // namespace cb
