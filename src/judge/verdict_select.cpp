#include "judge/verdict_select.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"

namespace cb {
namespace {

bool equals(const ParamValue& value, const std::string& text) {
  if (const auto* b = std::get_if<bool>(&value)) return text == (*b ? "true" : "false");
  if (const auto* i = std::get_if<int64_t>(&value))
    return parse_integer(text) == *i || parse_size(text) == *i;
  if (const auto* d = std::get_if<double>(&value))
    return parse_number(text) == *d || parse_duration(text) == *d;
  return std::get<std::string>(value) == text;
}

bool equals_any(const ParamValue& value, const std::vector<std::string>& texts) {
  return std::any_of(texts.begin(), texts.end(),
                     [&](const std::string& text) { return equals(value, text); });
}

// A size is an integer here: only the parameter's name tells it.
bool is_size(const std::string& name) { return name == "size" || name.ends_with("-size"); }

std::string value_text(const std::string& name, const ParamValue& value) {
  const auto* i = std::get_if<int64_t>(&value);
  return i != nullptr && is_size(name) ? format_size(*i) : to_text(value);
}

}  // namespace

bool matches(const Params& params, const GivenParams& at) {
  return std::all_of(at.begin(), at.end(), [&](const auto& wanted) {
    const auto found = params.all().find(wanted.first);
    return found != params.all().end() && !found->second.empty() &&
           std::all_of(found->second.begin(), found->second.end(),
                       [&](const ParamValue& v) { return equals_any(v, wanted.second); });
  });
}

bool may_match(const Params& params, const GivenParams& at) {
  return std::all_of(at.begin(), at.end(), [&](const auto& wanted) {
    const auto found = params.all().find(wanted.first);
    return found == params.all().end() ||
           std::any_of(found->second.begin(), found->second.end(),
                       [&](const ParamValue& v) { return equals_any(v, wanted.second); });
  });
}

std::set<std::string> varying_params(const std::vector<Record>& records) {
  std::set<std::string> out;
  for (const Record& record : records) {
    for (const auto& [name, values] : record.params.all()) {
      const auto& first = records.front().params.all();
      const auto found = first.find(name);
      if (found == first.end() || found->second != values) out.insert(name);
    }
  }
  return out;
}

std::string point_text(const Params& params, const std::set<std::string>& varying,
                       const GivenParams& at) {
  std::set<std::string> names = varying;
  for (const auto& [name, values] : at) names.insert(name);
  std::string out;
  for (const std::string& name : names) {
    const auto found = params.all().find(name);
    if (found == params.all().end()) continue;
    out += (out.empty() ? "" : ", ") + name;
    for (const ParamValue& value : found->second) out += " " + value_text(name, value);
  }
  return out;
}

}  // namespace cb
