#include "core/profile_reader.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/quantity.h"
#include "core/suggest.h"
#include "core/text.h"
#include "core/units.h"

namespace cb {

using nlohmann::json;

ProfileReader::ProfileReader(const json& object, std::string path, Problems& problems)
    : object_(object), path_(std::move(path)), problems_(problems), usable_(object.is_object()) {
  if (!usable_) problems_.add(path_, "is not an object");
}

std::string ProfileReader::where(const std::string& key) const {
  return path_.empty() ? key : path_ + "." + key;
}

void ProfileReader::problem(const std::string& key, std::string what) {
  problems_.add(where(key), std::move(what));
}

const json* ProfileReader::find(const std::string& key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.push_back(key);
  if (!usable_ || !object_.contains(key)) return nullptr;
  return &object_[key];
}

std::string ProfileReader::text(const std::string& key,
                                const std::optional<std::string>& fallback) {
  const json* value = find(key);
  if (value == nullptr) {
    if (!fallback && usable_) problem(key, "is missing");
    return fallback.value_or("");
  }
  if (!value->is_string() || is_blank(value->get_ref<const std::string&>())) {
    problem(key, value->is_string() ? "is empty" : "is not a text");
    return "";
  }
  return value->get<std::string>();
}

std::string ProfileReader::one_of(const std::string& key, const std::vector<std::string>& valid,
                                  const std::optional<std::string>& fallback) {
  const std::string value = text(key, fallback);
  if (!value.empty() && std::find(valid.begin(), valid.end(), value) == valid.end())
    problem(key, unknown_name(value, valid));
  return value;
}

std::optional<double> ProfileReader::number(const std::string& key) {
  const json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_number()) return value->get<double>();
  problem(key, "is not a number");
  return std::nullopt;
}

std::optional<double> ProfileReader::quantity(const std::string& key, std::string& unit) {
  const json* value = find(key);
  if (value == nullptr || !value->is_string()) return number(key);
  const auto read = parse_quantity(value->get<std::string>());
  if (!read || read->unit.empty()) {
    problem(key, "is neither a number in the metric's unit nor a text such as \"100 GB/s\"");
    return std::nullopt;
  }
  unit = read->unit;
  return read->value;
}

bool ProfileReader::flag(const std::string& key) {
  const json* value = find(key);
  if (value == nullptr) return false;
  if (value->is_boolean()) return value->get<bool>();
  problem(key, "is neither true nor false");
  return false;
}

double ProfileReader::duration(const std::string& key, double fallback) {
  const json* value = find(key);
  if (value == nullptr) return fallback;
  const auto seconds = value->is_string()   ? parse_duration(value->get<std::string>())
                       : value->is_number() ? std::optional(value->get<double>())
                                            : std::nullopt;
  if (seconds && *seconds > 0) return *seconds;
  problem(key, "is not a duration such as \"90s\" or \"10m\"");
  return fallback;
}

LocalText ProfileReader::local_text(const std::string& key, const std::string& fallback) {
  const json* value = find(key);
  if (value == nullptr) {
    if (fallback.empty() && usable_) problem(key, "is missing");
    return {fallback, fallback};
  }
  ProfileReader reader(*value, where(key), problems_);
  LocalText out{reader.text("en"), reader.text("zh")};
  reader.finish();
  return out;
}

LocalText ProfileReader::prose(const std::string& key) {
  const json* value = find(key);
  if (value != nullptr && value->is_object()) return local_text(key, "");
  return {text(key), ""};
}

GivenParams ProfileReader::given(const std::string& key) {
  GivenParams out;
  const json* value = find(key);
  if (value == nullptr) return out;
  if (!value->is_object()) {
    problem(key, "is not an object");
    return out;
  }
  for (const auto& [name, v] : value->items()) {
    if (v.is_array() && v.empty()) problem(key + "." + name, "is an empty list");
    for (const json& single : v.is_array() ? v : json::array({v})) {
      if (single.is_structured() || single.is_null()) {
        problem(key + "." + name, "is neither a number, a text nor a truth value");
      } else {
        out[name].push_back(single.is_string() ? single.get<std::string>() : single.dump());
      }
    }
  }
  return out;
}

std::map<std::string, std::string> ProfileReader::texts(const std::string& key) {
  std::map<std::string, std::string> out;
  for (auto& [name, values] : given(key)) {
    if (values.size() == 1)
      out[name] = values[0];
    else
      problem(key + "." + name, "is not a single value");
  }
  return out;
}

Requirements ProfileReader::requirements(const std::string& key) {
  Requirements out;
  for (const auto& [name, value] : texts(key)) {
    const auto count = parse_integer(value);
    if (count && *count >= 1 && *count <= 1000000)
      out[name] = static_cast<int>(*count);
    else
      problem(key + "." + name, "is not a whole number from 1 to 1000000");
  }
  return out;
}

void ProfileReader::finish() {
  if (!usable_) return;
  for (const auto& [key, value] : object_.items()) {
    if (std::find(known_.begin(), known_.end(), key) == known_.end())
      problem(key, unknown_name(key, known_));
  }
}

}  // namespace cb
