#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/profile.h"

namespace cb {

// Reads one JSON object key by key; what is wrong, missing or left over is added to the problems
// under its path, and reading goes on with a harmless value, so that the user sees everything at
// once. The object and the problems must outlive it.
class ProfileReader {
 public:
  ProfileReader(const nlohmann::json& object, std::string path, Problems& problems);

  std::string where(const std::string& key) const;
  void problem(const std::string& key, std::string what);

  // The value at the key, which counts as known from now on; null if there is none.
  const nlohmann::json* find(const std::string& key);

  // A text that is not empty. Without a fallback the key must be there.
  std::string text(const std::string& key,
                   const std::optional<std::string>& fallback = std::nullopt);
  std::string one_of(const std::string& key, const std::vector<std::string>& valid,
                     const std::optional<std::string>& fallback = std::nullopt);
  std::optional<double> number(const std::string& key);
  // A number in the metric's unit, or a text such as "100 GB/s", whose unit it tells.
  std::optional<double> quantity(const std::string& key, std::string& unit);
  bool flag(const std::string& key);  // false where it is absent
  // Seconds, from "90s" or a number.
  double duration(const std::string& key, double fallback);
  LocalText local_text(const std::string& key, const std::string& fallback);
  // A text for both languages, or {"en": …, "zh": …}; it must be there.
  LocalText prose(const std::string& key);
  // {"size": "4K", "op": ["a", "b"], "direct": true} as a user would have given them on the command
  // line.
  GivenParams given(const std::string& key);
  std::map<std::string, std::string> texts(const std::string& key);
  Requirements requirements(const std::string& key);

  // Everything that was not asked for is a problem.
  void finish();

 private:
  const nlohmann::json& object_;
  std::string path_;
  Problems& problems_;
  bool usable_;
  std::vector<std::string> known_;
};

}  // namespace cb
