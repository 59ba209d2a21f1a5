#pragma once

#include <cstdint>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json_fwd.hpp>

#include "core/error.h"

// Strict reading of a parsed document: nlohmann's own get<int>() silently turns 1.7 into 1, -1 into
// 2^64-1 and walks an object where a list was expected. All throw Error or nlohmann's exceptions;
// read_each() puts the place in front.
namespace cb {

double finite_number(const nlohmann::json& json, const char* what);
int64_t whole_number(const nlohmann::json& json, const char* what);
// Not negative.
uint64_t whole_count(const nlohmann::json& json, const char* what);
// A whole number that an int holds.
int int_at(const nlohmann::json& json, const char* key);
// The same, but not negative, and 0 where the key is absent.
int count_or_zero(const nlohmann::json& json, const char* key);
// A key that is there and has that type.
const nlohmann::json& object_at(const nlohmann::json& json, const char* key);
const nlohmann::json& list_at(const nlohmann::json& json, const char* key);
std::string text_at(const nlohmann::json& json, const char* key);
std::map<std::string, std::string> texts_at(const nlohmann::json& json, const char* key);
std::vector<std::string> text_list_at(const nlohmann::json& json, const char* key);

// What an exception of the reading says, without the library's error numbers.
std::string reading_problem(const std::exception& exception);

// Converts every element of the list at `key`; a failure names it, "records[3].metrics[0].unit …".
template <typename T, typename Json, typename F>
std::vector<T> read_each(const Json& json, const char* key, F convert) {
  std::vector<T> out;
  const Json& list = list_at(json, key);
  for (size_t i = 0; i < list.size(); ++i) {
    try {
      out.push_back(convert(list[i]));
    } catch (const std::exception& e) {
      throw Error(fmt::format("{}[{}]: {}", key, i, reading_problem(e)));
    }
  }
  return out;
}

}  // namespace cb
