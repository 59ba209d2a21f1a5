#include "core/json/json_text.h"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/units.h"

namespace cb {
namespace {

using nlohmann::json;

constexpr int kDeepest = 64;

// Refuses what nlohmann's parser would silently accept: duplicate keys (the last wins) and
// unbounded depth.
class Guard {
 public:
  bool operator()(int depth, json::parse_event_t event, json& parsed) {
    const bool opens =
        event == json::parse_event_t::object_start || event == json::parse_event_t::array_start;
    if (opens && depth >= kDeepest) throw Error("nested too deeply");
    if (event == json::parse_event_t::object_start) {
      keys_.emplace_back();
    } else if (event == json::parse_event_t::object_end) {
      keys_.pop_back();
    } else if (event == json::parse_event_t::key) {
      const auto key = parsed.get<std::string>();
      if (!keys_.back().insert(key).second)
        throw Error(fmt::format("the key \"{}\" stands twice", key));
    }
    return true;
  }

 private:
  std::vector<std::set<std::string>> keys_;
};

std::string position(std::string_view text, size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte == 0 ? 0 : byte - 1, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t line_start = before.rfind('\n');
  const size_t column =
      line_start == std::string_view::npos ? before.size() + 1 : before.size() - line_start;
  return fmt::format("line {}, column {}", line, column);
}

}  // namespace

json parse_json(std::string_view text, const std::string& source) {
  try {
    Guard guard;
    return json::parse(text, [&](int depth, json::parse_event_t event, json& parsed) {
      return guard(depth, event, parsed);
    });
  } catch (const json::parse_error& e) {
    const bool at_end = e.byte > text.size();
    throw UsageError(source, position(text, e.byte),
                     at_end ? "the JSON ends too early: the file is truncated or empty"
                            : "is not valid JSON here");
  } catch (const json::out_of_range&) {
    throw UsageError(source, "", "holds a number that is too large to be one");
  } catch (const Error& e) {
    throw UsageError(source, "", e.what());
  }
}

std::string dump_json(const json& j) {
  return j.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

int require_schema(const json& j, std::string_view name, int newest, const std::string& source) {
  const std::string wanted = fmt::format("{}/{}", name, newest);
  if (!j.is_object() || !j.contains("schema") || !j["schema"].is_string()) {
    throw UsageError(source, "schema", fmt::format("is absent: this is not a {} file", name));
  }
  const auto found = j["schema"].get<std::string>();
  const size_t slash = found.rfind('/');
  const auto version = slash == std::string::npos
                           ? std::nullopt
                           : parse_integer(std::string_view(found).substr(slash + 1));
  if (!version || found != fmt::format("{}/{}", name, *version)) {
    throw UsageError(source, "schema", fmt::format("is {}, expected {}", found, wanted));
  }
  if (*version > newest) {
    throw UsageError(
        source, "schema",
        fmt::format("is {}: written by a newer clusterbench than this one (knows {}); update it",
                    found, wanted));
  }
  if (*version < 1)
    throw UsageError(source, "schema", fmt::format("is {}, which never existed", found));
  return static_cast<int>(*version);
}

}  // namespace cb
