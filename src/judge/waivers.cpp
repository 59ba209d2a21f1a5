// The waivers' file: strict, because every entry lets something pass that the contract refuses.
#include "judge/waivers.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json/json_text.h"
#include "core/quantity.h"
#include "core/suggest.h"
#include "core/text.h"
#include "judge/waivers_match.h"

namespace cb {
namespace {

using nlohmann::json;

const std::vector<std::string> kKeys{"id",       "criterion", "scope", "reason",
                                     "approver", "ticket",    "limit", "expires"};

std::string text(const json& j, const std::string& key, const std::string& where,
                 Problems& problems) {
  if (!j.contains(key)) {
    problems.add(where + "." + key, "is missing");
    return "";
  }
  if (!j[key].is_string() || is_blank(j[key].get<std::string>())) {
    problems.add(where + "." + key, "is not a text");
    return "";
  }
  return j[key].get<std::string>();
}

// Reads a number in the metric's unit, or a text with its own unit.
std::optional<Quantity> quantity(const json& value) {
  if (value.is_number()) return Quantity{value.get<double>(), ""};
  if (!value.is_string()) return std::nullopt;
  const auto read = parse_quantity(value.get<std::string>());
  return read && !read->unit.empty() ? read : std::nullopt;
}

Quantity limit(const json& j, const std::string& where, Problems& problems) {
  if (!j.contains("limit")) {
    problems.add(where + ".limit", "is missing: a waiver says how bad it may become");
    return {};
  }
  const auto read = quantity(j["limit"]);
  if (!read || !std::isfinite(read->value))
    problems.add(where + ".limit",
                 "is neither a number in the metric's unit nor a text such as \"80 GB/s\"");
  else if (read->value <= 0)
    problems.add(where + ".limit", "is not above 0: a waiver says how bad it may become");
  return read.value_or(Quantity{});
}

// A glob of wildcards only names no part.
bool names_something(const std::string& scope) {
  return scope.find_first_not_of("*?: ") != std::string::npos;
}

Waiver read_waiver(const json& j, const std::string& where, Problems& problems) {
  if (!j.is_object()) {
    problems.add(where, "is not an object");
    return {};
  }
  Waiver w;
  w.id = text(j, "id", where, problems);
  w.criterion = text(j, "criterion", where, problems);
  w.scope = text(j, "scope", where, problems);
  w.reason = text(j, "reason", where, problems);
  w.approver = text(j, "approver", where, problems);
  w.ticket = text(j, "ticket", where, problems);
  if (!w.scope.empty() && !names_something(w.scope))
    problems.add(where + ".scope", "is everything: name the hosts or parts that may fail");
  const Quantity bound = limit(j, where, problems);
  w.limit = bound.value;
  w.unit = bound.unit;
  w.expires = text(j, "expires", where, problems);
  if (!w.expires.empty() && !is_date(w.expires))
    problems.add(where + ".expires", fmt::format("is {}, not a day YYYY-MM-DD", w.expires));
  for (const auto& [key, value] : j.items()) {
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end())
      problems.add(where + "." + key, unknown_name(key, kKeys));
  }
  return w;
}

}  // namespace

std::vector<Waiver> parse_waivers(std::string_view content, const std::string& source) {
  const json j = parse_json(content, source);
  require_schema(j, "clusterbench.waivers", 1, source);
  Problems problems;
  std::vector<Waiver> out;
  std::set<std::string> ids;
  for (const auto& [key, value] : j.items()) {
    if (key != "schema" && key != "waivers")
      problems.add(key, unknown_name(key, {"schema", "waivers"}));
  }
  const json list = j.value("waivers", json());
  if (!list.is_array()) problems.add("waivers", "is missing or not a list");
  for (size_t i = 0; list.is_array() && i < list.size(); ++i) {
    const std::string where = fmt::format("waivers[{}]", i);
    out.push_back(read_waiver(list[i], where, problems));
    if (!out.back().id.empty() && !ids.insert(out.back().id).second)
      problems.add(where + ".id", fmt::format("{} stands twice", out.back().id));
  }
  if (!problems.empty()) throw UsageError(source, problems);
  return out;
}

}  // namespace cb
