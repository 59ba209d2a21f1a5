#include "core/params.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/json/json_read.h"
#include "core/suggest.h"
#include "core/units.h"

namespace cb {
namespace {

std::vector<std::string> split_commas(const std::vector<std::string>& texts) {
  std::vector<std::string> out;
  for (const std::string& text : texts) {
    size_t begin = 0;
    for (size_t end = text.find(','); end != std::string::npos; end = text.find(',', begin)) {
      out.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
    out.push_back(text.substr(begin));
  }
  return out;
}

const char* expected(ParamType type) {
  switch (type) {
    case ParamType::flag:
      return "true or false";
    case ParamType::integer:
      return "a whole number";
    case ParamType::number:
      return "a number";
    case ParamType::size:
      return "a size such as 4K, 64M or 1G";
    case ParamType::duration:
      return "a duration such as 500ms, 5s or 10m";
    default:
      return "a value";
  }
}

std::optional<ParamValue> parse_value(const ParamDef& def, const std::string& text) {
  const auto wrap = [](auto parsed) -> std::optional<ParamValue> {
    if (!parsed) return std::nullopt;
    return ParamValue(*parsed);
  };
  switch (def.type) {
    case ParamType::flag:
      if (text == "true" || text == "false") return ParamValue(text == "true");
      return std::nullopt;
    case ParamType::integer:
      return wrap(parse_integer(text));
    case ParamType::number:
      return wrap(parse_number(text));
    case ParamType::size:
      return wrap(parse_size(text));
    case ParamType::duration:
      return wrap(parse_duration(text));
    case ParamType::text:
    case ParamType::choice:
      return ParamValue(text);
  }
  return std::nullopt;
}

std::string limit_text(const ParamDef& def, double limit) {
  if (def.type == ParamType::size) return format_size(static_cast<int64_t>(limit));
  if (def.type == ParamType::duration) return format_seconds(limit);
  return fmt::format("{}", limit);
}

std::optional<std::string> out_of_range(const ParamDef& def, const ParamValue& value) {
  double number = 0;
  if (const auto* i = std::get_if<int64_t>(&value)) {
    number = static_cast<double>(*i);
  } else if (const auto* d = std::get_if<double>(&value)) {
    number = *d;
  } else {
    return std::nullopt;
  }
  if (number < def.min)
    return fmt::format("{} is below the least allowed, {}", to_text(value),
                       limit_text(def, def.min));
  if (number > def.max)
    return fmt::format("{} is above the most allowed, {}", to_text(value),
                       limit_text(def, def.max));
  return std::nullopt;
}

void resolve_one(const ParamDef& def, std::vector<std::string> texts, Params& params,
                 Problems& problems) {
  const std::string where = "--" + def.name;
  if (def.list) texts = split_commas(texts);
  if (!def.list && texts.size() > 1) return problems.add(where, "was given more than once");
  std::vector<ParamValue> values;
  for (const std::string& text : texts) {
    const auto value = parse_value(def, text);
    if (!value) {
      problems.add(where, fmt::format("'{}' is not {}", text, expected(def.type)));
    } else if (def.type == ParamType::choice &&
               std::find(def.choices.begin(), def.choices.end(), text) == def.choices.end()) {
      problems.add(where, unknown_name(text, def.choices));
    } else if (const auto range = out_of_range(def, *value)) {
      problems.add(where, *range);
    } else {
      values.push_back(*value);
    }
  }
  params.set_list(def.name, std::move(values));
}

nlohmann::json value_to_json(const ParamValue& value) {
  return std::visit([](const auto& v) { return nlohmann::json(v); }, value);
}

ParamValue value_from_json(const nlohmann::json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return whole_number(json, "a parameter");
  if (json.is_number()) return finite_number(json, "a parameter");
  if (json.is_string()) return json.get<std::string>();
  throw Error("a parameter is neither a number, a text nor a truth value");
}

template <typename T>
T read(const ParamValue& value, std::string_view name) {
  if (const T* v = std::get_if<T>(&value)) return *v;
  throw Error(fmt::format("parameter {} was read as another type", name));
}

}  // namespace

bool Params::has(std::string_view name) const {
  const auto found = values_.find(name);
  return found != values_.end() && !found->second.empty();
}

const std::vector<ParamValue>& Params::at(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end() || found->second.empty())
    throw Error(fmt::format("parameter {} is absent", name));
  return found->second;
}

bool Params::flag(std::string_view name) const {
  return has(name) && read<bool>(at(name)[0], name);
}
int64_t Params::integer(std::string_view name) const { return read<int64_t>(at(name)[0], name); }

double Params::number(std::string_view name) const {
  const ParamValue& value = at(name)[0];
  if (const auto* i = std::get_if<int64_t>(&value)) return static_cast<double>(*i);
  return read<double>(value, name);
}

const std::string& Params::text(std::string_view name) const {
  if (const auto* v = std::get_if<std::string>(&at(name)[0])) return *v;
  throw Error(fmt::format("parameter {} was read as another type", name));
}

std::vector<int64_t> Params::integers(std::string_view name) const {
  std::vector<int64_t> out;
  for (const ParamValue& v : at(name)) out.push_back(read<int64_t>(v, name));
  return out;
}

std::vector<std::string> Params::texts(std::string_view name) const {
  std::vector<std::string> out;
  for (const ParamValue& v : at(name)) out.push_back(read<std::string>(v, name));
  return out;
}

void Params::set(std::string name, ParamValue value) {
  values_[std::move(name)] = {std::move(value)};
}
void Params::set_list(std::string name, std::vector<ParamValue> values) {
  values_[std::move(name)] = std::move(values);
}
void Params::erase(std::string_view name) {
  if (const auto found = values_.find(name); found != values_.end()) values_.erase(found);
}

Params Params::with(std::string name, ParamValue value) const {
  Params out = *this;
  out.set(std::move(name), std::move(value));
  return out;
}

namespace {

bool applies(const Exclusion& exclusion, const std::vector<std::string>& given) {
  return exclusion.values.empty() || std::ranges::any_of(given, [&](const std::string& value) {
           return std::ranges::find(exclusion.values, value) != exclusion.values.end();
         });
}

// What one parameter sets cannot be asked for by another: one of the two would be ignored.
void refuse_excluded(const ParamDef& def, const GivenParams& given, Problems& problems) {
  const auto own = given.find(def.name);
  if (own == given.end()) return;
  for (const Exclusion& exclusion : def.excludes) {
    if (!applies(exclusion, own->second)) continue;
    for (const std::string& other : exclusion.others) {
      if (given.contains(other))
        problems.add("--" + other, fmt::format("is set by --{} {}: give one of the two", def.name,
                                               fmt::join(own->second, ",")));
    }
  }
}

}  // namespace

Params resolve_params(std::span<const ParamDef> defs, const GivenParams& given,
                      Problems& problems) {
  Params params;
  std::vector<std::string> names;
  for (const ParamDef& def : defs) {
    names.push_back("--" + def.name);
    const auto found = given.find(def.name);
    if (found != given.end()) {
      resolve_one(def, found->second, params, problems);
    } else if (!def.default_text.empty()) {
      resolve_one(def, {def.default_text}, params, problems);
    }
    refuse_excluded(def, given, problems);
  }
  for (const auto& [name, texts] : given) {
    const std::string option = "--" + name;
    if (std::find(names.begin(), names.end(), option) != names.end()) continue;
    problems.add(option, unknown_option(option, names));
  }
  return params;
}

nlohmann::json params_to_json(const Params& params) {
  nlohmann::json out = nlohmann::json::object();
  for (const auto& [name, values] : params.all()) {
    if (values.size() == 1) {
      out[name] = value_to_json(values[0]);
    } else if (!values.empty()) {
      for (const ParamValue& v : values) out[name].push_back(value_to_json(v));
    }
  }
  return out;
}

Params params_from_json(const nlohmann::json& json) {
  Params out;
  if (!json.is_object()) throw Error("params is not an object");
  for (const auto& [name, value] : json.items()) {
    std::vector<ParamValue> values;
    if (value.is_array()) {
      if (value.empty()) throw Error(fmt::format("parameter {} is an empty list", name));
      for (const auto& v : value) values.push_back(value_from_json(v));
    } else {
      values.push_back(value_from_json(value));
    }
    out.set_list(name, std::move(values));
  }
  return out;
}

std::string to_text(const ParamValue& value) {
  return std::visit([](const auto& v) { return fmt::format("{}", v); }, value);
}

}  // namespace cb
