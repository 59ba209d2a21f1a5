#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/error.h"

namespace cb {

enum class ParamType {
  flag,  // true or false; given without a value on the command line
  integer,
  number,
  text,
  size,      // bytes, written 4K, 1M
  duration,  // seconds, written 5s, 10m
  choice     // one of ParamDef::choices
};

// Parameters that may not be given beside this one, because it sets them itself; of a parameter
// with `values` only where it has one of them.
struct Exclusion {
  std::vector<std::string> others;
  std::vector<std::string> values = {};
};

// One parameter of a case. The name is the option's name (without dashes in front) and the key in
// profiles and results.
struct ParamDef {
  std::string name;
  ParamType type = ParamType::text;
  std::string default_text;  // as a user would write it; empty: absent unless given
  std::string help;
  std::vector<std::string> choices = {};
  bool list = false;   // several values, separated by commas
  double min = -9e18;  // of integer, number, size (bytes), duration (seconds)
  double max = 9e18;
  std::vector<Exclusion> excludes = {};
};

// A size or integer is int64_t, a duration (seconds) or number is double, a choice or text is
// string.
using ParamValue = std::variant<bool, int64_t, double, std::string>;

// Resolved and validated parameters of one case. Reading one that is absent or of another type is a
// programming error and throws Error.
class Params {
 public:
  bool has(std::string_view name) const;
  bool flag(std::string_view name) const;
  int64_t integer(std::string_view name) const;  // integer and size
  double number(std::string_view name) const;    // number and duration; integers convert
  const std::string& text(std::string_view name) const;
  std::vector<int64_t> integers(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;

  void set(std::string name, ParamValue value);
  void set_list(std::string name, std::vector<ParamValue> values);
  void erase(std::string_view name);

  // A copy with one value replaced: the point of a sweep.
  Params with(std::string name, ParamValue value) const;

  const std::map<std::string, std::vector<ParamValue>, std::less<>>& all() const { return values_; }
  bool operator==(const Params&) const = default;

 private:
  const std::vector<ParamValue>& at(std::string_view name) const;
  std::map<std::string, std::vector<ParamValue>, std::less<>> values_;
};

// Values as a user or a profile gave them: parameter name to texts.
using GivenParams = std::map<std::string, std::vector<std::string>>;

// Fills defaults, parses, checks ranges and choices; every problem is added to `problems` as
// "--name", what.
Params resolve_params(std::span<const ParamDef> defs, const GivenParams& given, Problems& problems);

// JSON: a scalar, or an array where there are several values. Round trip keeps the types.
nlohmann::json params_to_json(const Params& params);
Params params_from_json(const nlohmann::json& json);

std::string to_text(const ParamValue& value);

}  // namespace cb
