#include "core/profile_expect_reader.h"

#include <algorithm>
#include <initializer_list>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/delivery_list.h"
#include "core/letters.h"

namespace cb {
namespace {

using nlohmann::json;

// A value as the inventory would write it; nothing if it is no text, number, true or false.
std::optional<std::string> wanted_text(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";  // as attribute_text()
  if (value.is_number_integer()) return fmt::format("{}", value.get<int64_t>());
  if (value.is_number()) return fmt::format("{}", value.get<double>());
  return std::nullopt;
}

// True for ">=0" and the like of what is never below zero: nothing can miss it.
bool is_below_everything(const std::string& attribute, const std::string& wanted) {
  const bool count = std::ranges::any_of(
      std::initializer_list<std::string_view>{".count", "_bytes", "_per_second", ".sockets",
                                              ".cores", "version", "firmware", "vbios"},
      [&](std::string_view end) { return attribute.ends_with(end); });
  const size_t begin = wanted.find_first_not_of("<>= ");
  if (!count || !wanted.starts_with('>') || begin == std::string::npos) return false;
  const std::string value = wanted.substr(begin);
  const bool strict = !wanted.starts_with(">=");
  const bool zero = value.find_first_not_of("0.") == std::string::npos;
  return value.starts_with('-') || (zero && !strict);
}

Expectation read_expectation(ProfileReader& r, const std::string& name, const json& value) {
  Expectation out{.attribute = name};
  const std::string where = "expect." + name;
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos || dot == 0 || dot + 1 == name.size())
    r.problem(where, "is no \"kind.attribute\"");
  for (const json& one : value.is_array() ? value : json::array({value})) {
    const auto text = wanted_text(one);
    if (!text) {
      r.problem(where, "is neither a text, a number, true, false nor a list of these");
    } else if (const auto why = bad_wanted(*text)) {
      r.problem(where, *why);
    } else if (is_below_everything(name, *text)) {
      r.problem(where, fmt::format("{} is a limit that nothing can miss", *text));
    } else {
      out.wanted.push_back(*text);
    }
  }
  if (value.is_array() && value.empty()) r.problem(where, "is an empty list: nothing can pass");
  return out;
}

Asset read_asset(const json& value, const std::string& where, Problems& problems) {
  ProfileReader r(value, where, problems);
  const auto may_be_empty = [&](const char* key) {
    const json* text = r.find(key);
    if (text == nullptr) return std::string();
    if (!text->is_string()) r.problem(key, "is not a text");
    return text->is_string() ? text->get<std::string>() : std::string();
  };
  Asset out{.host = r.text("host"),
            .part = r.one_of("part", asset_parts()),
            .slot = may_be_empty("slot"),
            .serial = may_be_empty("serial"),
            .model = may_be_empty("model")};
  r.finish();
  return out;
}

void read_assets(ProfileReader& r, const json& list, ExpectRule& out, Problems& problems) {
  if (!list.is_array() || list.empty()) {
    r.problem("assets", "is no list of pieces, or an empty one");
    return;
  }
  std::set<std::pair<std::string, std::string>> seen;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string where = r.where(fmt::format("assets[{}]", i));
    out.assets.push_back(read_asset(list[i], where, problems));
    const Asset& asset = out.assets.back();
    if (!asset.serial.empty() && !seen.insert({asset.part, in_small_letters(asset.serial)}).second)
      problems.add(where, fmt::format("the serial {} stands twice", asset.serial));
  }
}

}  // namespace

bool has_expect_rule(ProfileReader& r) {
  const bool expect = r.find("expect") != nullptr;
  return r.find("assets") != nullptr || expect;
}

ExpectRule read_expect_rule(ProfileReader& r, Problems& problems) {
  ExpectRule out;
  if (const json* expected = r.find("expect")) {
    if (!expected->is_object() || expected->empty())
      r.problem("expect", "is no object of \"kind.attribute\", or an empty one");
    else
      for (const auto& [name, value] : expected->items())
        out.expected.push_back(read_expectation(r, name, value));
  }
  if (const json* assets = r.find("assets")) read_assets(r, *assets, out, problems);
  return out;
}

std::optional<std::string> bad_wanted(const std::string& wanted) {
  const size_t value = wanted.find_first_not_of("<>= ");
  if (value == std::string::npos) return "says no value";
  if (wanted.find_first_not_of('*') == std::string::npos)
    return fmt::format("is {}, which every value matches: nothing can miss it", wanted);
  const std::string sign = wanted.substr(0, wanted.find_first_not_of("<>="));
  if (sign.empty() || sign == ">=" || sign == "<=" || sign == ">" || sign == "<")
    return std::nullopt;
  return fmt::format("begins with {}: >=, <=, > and < are known", sign);
}

}  // namespace cb
