#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/profile.h"

namespace cb {

// Reads one JSON object key by key. What is wrong, missing or left over is added to the problems
// with its path, and reading continues with a harmless value: the user sees everything at once. The
// object and the problems must outlive the reader.
class ProfileReader {
 public:
  ProfileReader(const nlohmann::json& object, std::string path, Problems& problems);

  std::string where(const std::string& key) const;
  void problem(const std::string& key, std::string what);

  // Returns the value at the key, or null. From then on the key counts as known.
  const nlohmann::json* find(const std::string& key);

  // Reads a text that is not empty. Without a fallback the key must exist.
  std::string text(const std::string& key,
                   const std::optional<std::string>& fallback = std::nullopt);
  std::string one_of(const std::string& key, const std::vector<std::string>& valid,
                     const std::optional<std::string>& fallback = std::nullopt);
  std::optional<double> number(const std::string& key);
  // Reads a number in the metric's unit, or a text such as "100 GB/s", whose unit it stores in
  // `unit`.
  std::optional<double> quantity(const std::string& key, std::string& unit);
  bool flag(const std::string& key);  // false if absent
  // Reads seconds, from "90s" or a number.
  double duration(const std::string& key, double fallback);
  LocalText local_text(const std::string& key, const std::string& fallback);
  // Reads a text for both languages, or {"en": …, "zh": …}; it must exist.
  LocalText prose(const std::string& key);
  // Reads {"size": "4K", "op": ["a", "b"], "direct": true} as if a user had given these on the
  // command line.
  GivenParams given(const std::string& key);
  std::map<std::string, std::string> texts(const std::string& key);
  Requirements requirements(const std::string& key);

  // Reports every key that was not asked for as a problem.
  void finish();

 private:
  const nlohmann::json& object_;
  std::string path_;
  Problems& problems_;
  bool usable_;
  std::vector<std::string> known_;
};

}  // namespace cb
