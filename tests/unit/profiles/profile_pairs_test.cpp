// Whatever two profiles that come along are put together: each step and criterion of both is there
// as it was, or an error names the two profiles that contradict each other.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/file.h"
#include "core/profile.h"

using namespace cb;
using nlohmann::json;

#ifdef CB_SANITIZED
constexpr size_t kEveryPair = 13;  // all of them take minutes there
#else
constexpr size_t kEveryPair = 1;
#endif

namespace {

using ProfileTexts = std::map<std::string, std::string>;
using EntriesByPlace = std::map<std::string, json>;

ProfileTexts shipped_profiles() {
  ProfileTexts out;
  const std::filesystem::path root = std::getenv("CLUSTERBENCH_SOURCE_DIR");
  for (const auto& file : std::filesystem::directory_iterator(root / "profiles"))
    out[file.path().stem().string()] = read_file(file.path());
  return out;
}

Profile load_from(const ProfileTexts& all, const std::string& name) {
  return load_profile(name, [&](const std::string& n) -> std::optional<std::string> {
    const auto found = all.find(n);
    return found == all.end() ? std::nullopt : std::optional(found->second);
  });
}

// By place, without what two bases may say differently of one step.
EntriesByPlace entries_of(const Profile& profile) {
  EntriesByPlace out;
  const json resolved = json::parse(profile.resolved);
  for (const char* list : {"steps", "criteria", "checklist"}) {
    for (json entry : resolved.value(list, json::array())) {
      if (std::string(list) == "steps") {
        for (const char* key : {"deadline", "informative", "why"}) entry.erase(key);
      }
      out[std::string(list) + "[" + entry["id"].get<std::string>() + "]"] = entry;
    }
  }
  return out;
}

// Profiles that only put others together have nothing of their own to lose.
bool only_bases(const std::string& text) {
  const json profile = json::parse(text);
  return profile.contains("base") && profile["base"].is_array() && !profile.contains("steps") &&
         !profile.contains("criteria");
}

// Ids that some profile takes away: what was inherited by both may be gone on purpose.
std::set<std::string> removed_somewhere(const ProfileTexts& all) {
  std::set<std::string> out;
  for (const auto& [name, text] : all) {
    const json profile = json::parse(text);
    for (const char* list : {"steps", "criteria", "checklist"}) {
      for (const json& entry : profile.value(list, json::array())) {
        if (entry.contains("remove"))
          out.insert(std::string(list) + "[" + entry["id"].get<std::string>() + "]");
      }
    }
  }
  return out;
}

bool is_entry(const EntriesByPlace& both, const EntriesByPlace& one, const std::string& place) {
  const auto found = one.find(place);
  return found != one.end() && found->second == both.at(place);
}

bool names_both(const UsageError& e, const std::string& a, const std::string& b) {
  return std::ranges::all_of(e.problems().list, [&](const Problem& p) {
    return p.what.find(a) != std::string::npos && p.what.find(b) != std::string::npos;
  });
}

}  // namespace

TEST_CASE("any two shipped profiles together are their union, or refused with both named") {
  ProfileTexts all = shipped_profiles();
  std::map<std::string, EntriesByPlace> alone;
  for (const auto& [name, text] : all) {
    if (!only_bases(text)) alone[name] = entries_of(load_from(all, name));
  }
  const std::set<std::string> removed = removed_somewhere(all);
  size_t merged = 0, refused = 0, pairs = 0;
  for (const auto& one : alone) {
    for (const auto& other : alone) {
      const std::string &a = one.first, &b = other.first;
      const EntriesByPlace &of_a = one.second, &of_b = other.second;
      if (a >= b || ++pairs % kEveryPair != 0) continue;
      all["both"] =
          json{{"schema", "clusterbench.profile/1"}, {"name", "both"}, {"base", {a, b}}}.dump();
      CAPTURE(a);
      CAPTURE(b);
      try {
        const EntriesByPlace both = entries_of(load_from(all, "both"));
        ++merged;
        for (const auto* side : {&of_a, &of_b}) {
          for (const auto& entry : *side) {
            const std::string& place = entry.first;
            CAPTURE(place);
            if (both.contains(place))
              CHECK((is_entry(both, of_a, place) || is_entry(both, of_b, place)));
            else
              CHECK(removed.contains(place));
          }
        }
        for (const auto& [place, entry] : both)
          CHECK((of_a.contains(place) || of_b.contains(place)));
      } catch (const UsageError& e) {
        ++refused;
        INFO(e.what());
        CHECK(names_both(e, a, b));
      }
    }
  }
  CHECK(merged > 100 / kEveryPair);
  CHECK(refused > 100 / kEveryPair);
}
