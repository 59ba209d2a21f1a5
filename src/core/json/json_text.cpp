#include "core/json/json_text.h"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json/value.h"
#include "core/units.h"

namespace cb {
namespace {

using nlohmann::json;

struct TooDeep : Error {
  using Error::Error;
};

// Refuses what nlohmann's parser would silently accept: duplicate keys (the last wins) and
// unbounded depth.
class Guard {
 public:
  bool operator()(int depth, json::parse_event_t event, json& parsed) {
    const bool opens =
        event == json::parse_event_t::object_start || event == json::parse_event_t::array_start;
    if (opens && depth >= kMaxJsonDepth) throw TooDeep("");
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

// The 1-based byte of the first bracket that opens one level too many. `text` is JSON up to there.
size_t too_deep_at(std::string_view text) {
  bool quoted = false;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\')
      ++i;
    else if (c == '"')
      quoted = !quoted;
    else if (!quoted && (c == '[' || c == '{') && depth++ == kMaxJsonDepth)
      return i + 1;
    else if (!quoted && (c == ']' || c == '}'))
      --depth;
  }
  return text.size();
}

// ": 1e999" out of nlohmann's "… number overflow parsing '1e999'", "" where it quotes none.
std::string quoted_in(const json::out_of_range& e) {
  const std::string_view what = e.what();
  const size_t from = what.find('\''), to = what.rfind('\'');
  if (from == std::string_view::npos || to <= from + 1) return "";
  constexpr size_t kMaxShown = 40;
  return fmt::format(": {}", what.substr(from + 1, std::min(to - from - 1, kMaxShown)));
}

// Its keys differ everywhere, or it is refused.
json tree_of(Value v) {
  switch (v.type()) {
    case simdjson::dom::element_type::ARRAY: {
      json out = json::array();
      for (const Value item : list_of(v)) out.push_back(tree_of(item));
      return out;
    }
    case simdjson::dom::element_type::OBJECT: {
      json out = json::object();
      for (const auto member : object_of(v))
        out.emplace(std::string(member.key), tree_of(member.value));
      return out;
    }
    case simdjson::dom::element_type::STRING:
      return std::string(std::string_view(v));
    case simdjson::dom::element_type::INT64:
      return int64_t(v) < 0 ? json(int64_t(v)) : json(uint64_t(v));
    case simdjson::dom::element_type::UINT64:
      return uint64_t(v);
    case simdjson::dom::element_type::DOUBLE:
      return double(v);
    case simdjson::dom::element_type::BOOL:
      return bool(v);
    default:
      return nullptr;
  }
}

// What the fast parser does not take the slow one takes, or says where it is wrong.
std::optional<json> parse_quickly(std::string_view text) {
  try {
    if (const std::optional<Value> value = parse_value(text)) return tree_of(*value);
  } catch (const Refusal&) {
  }
  return std::nullopt;
}

}  // namespace

json parse_json(std::string_view text, const std::string& source) {
  if (std::optional<json> out = parse_quickly(text)) return std::move(*out);
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
  } catch (const json::out_of_range& e) {
    throw UsageError(source, "", fmt::format("holds a number that is too large{}", quoted_in(e)));
  } catch (const TooDeep&) {
    throw UsageError(source, position(text, too_deep_at(text)), "is nested too deeply");
  } catch (const Error& e) {
    throw UsageError(source, "", e.what());
  }
}

std::string dump_json(const json& j) {
  return j.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

int require_schema(const json& j, std::string_view name, int newest, const std::string& source) {
  const bool has = j.is_object() && j.contains("schema") && j["schema"].is_string();
  const auto found = has ? std::optional(j["schema"].get<std::string>()) : std::nullopt;
  return require_schema_text(found, name, newest, source);
}

int require_schema_text(const std::optional<std::string>& stated, std::string_view name, int newest,
                        const std::string& source) {
  const std::string wanted = fmt::format("{}/{}", name, newest);
  if (!stated)
    throw UsageError(source, "schema", fmt::format("is absent: this is not a {} file", name));
  const std::string& found = *stated;
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
