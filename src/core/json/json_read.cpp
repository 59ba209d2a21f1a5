#include "core/json/json_read.h"

#include <cmath>
#include <limits>
#include <string_view>

#include <nlohmann/json.hpp>

namespace cb {
namespace {

using nlohmann::json;

const json& at(const json& j, const char* key) {
  if (!j.is_object()) throw Error("is not an object");
  const auto found = j.find(key);
  if (found == j.end()) throw Error(fmt::format("{} is missing", key));
  return *found;
}

std::string text(const json& j, const char* what) {
  if (!j.is_string()) throw Error(fmt::format("{} is not a text", what));
  return j.get<std::string>();
}

}  // namespace

double finite_number(const json& j, const char* what) {
  if (!j.is_number()) throw Error(fmt::format("{} is not a number", what));
  const double value = j.get<double>();
  if (!std::isfinite(value)) throw Error(fmt::format("{} is not finite", what));
  return value;
}

int64_t whole_number(const json& j, const char* what) {
  const bool too_large =
      j.is_number_unsigned() &&
      j.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (!j.is_number_integer() || too_large)
    throw Error(fmt::format("{} is not a whole number", what));
  return j.get<int64_t>();
}

uint64_t whole_count(const json& j, const char* what) {
  const int64_t value = whole_number(j, what);
  if (value < 0) throw Error(fmt::format("{} is negative", what));
  return static_cast<uint64_t>(value);
}

int int_at(const json& j, const char* key) {
  const int64_t value = whole_number(at(j, key), key);
  if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max())
    throw Error(fmt::format("{} is beyond 32 bits", key));
  return static_cast<int>(value);
}

int count_or_zero(const json& j, const char* key) {
  const int value = j.contains(key) ? int_at(j, key) : 0;
  if (value < 0) throw Error(fmt::format("{} is negative", key));
  return value;
}

const json& object_at(const json& j, const char* key) {
  const json& value = at(j, key);
  if (!value.is_object()) throw Error(fmt::format("{} is not an object", key));
  return value;
}

const json& list_at(const json& j, const char* key) {
  const json& value = at(j, key);
  if (!value.is_array()) throw Error(fmt::format("{} is not a list", key));
  return value;
}

std::string text_at(const json& j, const char* key) { return text(at(j, key), key); }

std::map<std::string, std::string> texts_at(const json& j, const char* key) {
  std::map<std::string, std::string> out;
  for (const auto& [name, value] : object_at(j, key).items()) out[name] = text(value, key);
  return out;
}

std::vector<std::string> text_list_at(const json& j, const char* key) {
  std::vector<std::string> out;
  for (const json& value : list_at(j, key)) out.push_back(text(value, key));
  return out;
}

std::string reading_problem(const std::exception& exception) {
  std::string_view what = exception.what();
  if (what.starts_with("[json.exception")) {
    const size_t end = what.find("] ");
    if (end != std::string_view::npos) what.remove_prefix(end + 2);
  }
  return std::string(what);
}

}  // namespace cb
