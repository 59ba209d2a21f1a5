#include "core/profile_composed.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace cb {
namespace {

using nlohmann::json;

// Returns the part's name if the part cannot be read or has no title in that language. Reading it
// as a base reports what is wrong with it.
std::string title_of(const std::string& part, const ProfileSource& source, const char* language) {
  const json read = json::parse(source(part).value_or(""), nullptr, false);
  if (!read.is_object() || !read.contains("title") || !read["title"].is_object()) return part;
  const json& title = read["title"];
  return title.contains(language) && title[language].is_string()
             ? title[language].get<std::string>()
             : part;
}

}  // namespace

std::vector<std::string> composed_parts(const std::string& name) {
  std::vector<std::string> out(1);
  for (const char c : name) {
    if (c == '+')
      out.emplace_back();
    else
      out.back() += c;
  }
  const bool whole = out.size() == 1 || std::ranges::any_of(out, &std::string::empty);
  return whole ? std::vector<std::string>{} : out;
}

std::optional<std::string> composed_profile(const std::string& name, const ProfileSource& source) {
  const std::vector<std::string> parts = composed_parts(name);
  if (parts.empty()) return std::nullopt;
  json title;
  for (const char* language : {"en", "zh"}) {
    std::string text;
    for (const std::string& part : parts)
      text += (text.empty() ? "" : " + ") + title_of(part, source, language);
    title[language] = text;
  }
  const json profile{{"schema", "clusterbench.profile/1"},
                     {"name", name},
                     {"title", std::move(title)},
                     {"base", parts}};
  return profile.dump();
}

}  // namespace cb
