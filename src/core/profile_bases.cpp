#include "core/profile_bases.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/suggest.h"

namespace cb {
namespace {

using nlohmann::json;

constexpr const char* kLists[] = {"steps", "criteria", "checklist"};
// Keys in which two bases may differ for a step without measuring something else.
constexpr const char* kHarmless[] = {"deadline", "informative", "why"};
constexpr const char* kLimits[] = {"metric",
                                   "check",
                                   "statistic",
                                   "min",
                                   "max",
                                   "min_of_ceiling",
                                   "min_of_fleet",
                                   "max_of_fleet",
                                   "max_spread_of_host",
                                   "max_ratio_of_host",
                                   "since",
                                   "step"};

bool is_entry(const json& value) {
  return value.is_object() && value.contains("id") && value["id"].is_string();
}

std::string place_of(const char* list, const json& entry) {
  return fmt::format("{}[{}]", list, entry["id"].get<std::string>());
}

// Returns the entry as text, without the keys that may differ.
std::string version_of(const char* list, const json& entry) {
  if (std::string_view(list) != "steps") return entry.dump();
  json essence = entry;
  for (const char* key : kHarmless) essence.erase(key);
  return essence.dump();
}

// JSON is json or const json. Returns null if there is no such entry.
template <typename JSON>
JSON* find_entry(JSON& profile, const char* list, const json& id) {
  const auto entries = profile.find(list);
  if (entries == profile.end() || !entries->is_array()) return nullptr;
  for (JSON& entry : *entries) {
    if (is_entry(entry) && entry["id"] == id) return &entry;
  }
  return nullptr;
}

// Returns the keys in which the two differ: "params.rw", "case".
std::vector<std::string> differing_keys(const json& a, const json& b) {
  std::vector<std::string> out;
  std::set<std::string> keys;
  for (const json* side : {&a, &b}) {
    for (const auto& [key, value] : side->items()) keys.insert(key);
  }
  for (const std::string& key : keys) {
    const json left = a.value(key, json()), right = b.value(key, json());
    if (left == right) continue;
    const bool deeper = (left.is_object() || left.is_null()) &&
                        (right.is_object() || right.is_null()) && key != "title";
    if (!deeper) out.push_back(key);
    if (!deeper) continue;
    const json none = json::object();
    for (const std::string& inner :
         differing_keys(left.is_null() ? none : left, right.is_null() ? none : right))
      out.push_back(key + "." + inner);
  }
  return out;
}

std::string clash_text(const json& a, const std::string& first_name, const json& b,
                       const std::string& second_name) {
  return fmt::format(
      "stands in {} and in {} and differs in {}: keep both with {{\"profile\": NAME, \"as\": "
      "PREFIX}} as a base, or take one base only",
      first_name, second_name, fmt::join(differing_keys(a, b), ", "));
}

bool knows(const ResolvedProfile& profile, const std::string& place, const std::string& version) {
  const auto found = profile.versions.find(place);
  return found != profile.versions.end() && found->second.contains(version);
}

std::string origin_of(const ResolvedProfile& profile, const std::string& place) {
  const auto found = profile.origins.find(place);
  return found == profile.origins.end() ? "its base" : found->second;
}

class BaseAdder {
 public:
  BaseAdder(ResolvedProfile& first, const ResolvedProfile& second, Problems& problems)
      : first_(first), second_(second), problems_(problems) {}

  void add() {
    for (const auto& [key, value] : second_.json->items()) {
      if (std::ranges::find(kLists, key) == std::end(kLists)) (*first_.json)[key] = value;
    }
    for (const char* list : kLists) {
      drop_removed(list);
      if (!second_.json->contains(list)) continue;
      for (const json& entry : (*second_.json)[list]) add_entry(list, entry);
    }
    for (const auto& [place, versions] : second_.versions)
      first_.versions[place].insert(versions.begin(), versions.end());
    for (const auto& [place, origin] : second_.origins) first_.origins.emplace(place, origin);
    first_.bases.insert(second_.bases.begin(), second_.bases.end());
  }

 private:
  void add_entry(const char* list, const json& entry) {
    const std::string place = place_of(list, entry);
    const std::string theirs = version_of(list, entry);
    json* mine = find_entry(*first_.json, list, entry["id"]);
    if (mine == nullptr) {
      if (!knows(first_, place, theirs)) add_new(list, place, entry);
      return;
    }
    const std::string own = version_of(list, *mine);
    if (knows(first_, place, theirs)) return;  // ours is theirs, or was derived from it
    if (knows(second_, place, own)) {
      *mine = entry;
      first_.origins[place] = origin_of(second_, place);
    } else if (const json a = json::parse(own), b = json::parse(theirs); a != b) {
      problems_.add(place, clash_text(a, origin_of(first_, place), b, origin_of(second_, place)));
    }
  }

  void add_new(const char* list, const std::string& place, const json& entry) {
    if (first_.versions.contains(place))
      return problems_.add(place, fmt::format("is removed by {} and changed by {}: say in this "
                                              "profile what holds, or take one base only",
                                              origin_of(first_, place), origin_of(second_, place)));
    (*first_.json)[list].push_back(entry);
  }

  // Drops entries of a common base that the second base removed and the first left unchanged.
  void drop_removed(const char* list) {
    if (!first_.json->contains(list)) return;
    json kept = json::array();
    const json& theirs = *second_.json;
    for (json& entry : (*first_.json)[list]) {
      const bool removed = find_entry(theirs, list, entry["id"]) == nullptr &&
                           knows(second_, place_of(list, entry), version_of(list, entry));
      if (!removed) kept.push_back(std::move(entry));
    }
    (*first_.json)[list] = std::move(kept);
  }

  ResolvedProfile& first_;
  const ResolvedProfile& second_;
  Problems& problems_;
};

std::string value_text(const json& entry, const char* key) {
  return entry.contains(key) && !entry[key].is_null() ? entry[key].dump() : "none";
}

}  // namespace

void ResolvedProfile::note_versions() {
  for (const char* list : kLists) {
    if (!json->contains(list) || !(*json)[list].is_array()) continue;
    for (const auto& entry : (*json)[list]) {
      if (is_entry(entry)) versions[place_of(list, entry)].insert(version_of(list, entry));
    }
  }
}

void ResolvedProfile::note_origin(const std::string& base) {
  for (const auto& [place, unused] : versions) origins[place] = base;
}

void rename_entries(ResolvedProfile& profile, const std::string& prefix) {
  const auto rename = [&](json& entry, const char* key) {
    if (entry.is_object() && entry.contains(key) && entry[key].is_string())
      entry[key] = prefix + "." + entry[key].get<std::string>();
  };
  for (const char* list : {"steps", "criteria"}) {
    if (!profile.json->contains(list) || !(*profile.json)[list].is_array()) continue;
    for (json& entry : (*profile.json)[list]) {
      rename(entry, "id");
      if (std::string_view(list) != "criteria") continue;
      rename(entry, "step");
      rename(entry, "since");
    }
  }
  profile.versions.clear();
  profile.note_versions();
}

void require_entries(ResolvedProfile& base, const std::string& name, Problems& problems) {
  for (const char* list : kLists) {
    const auto found = base.json->find(list);
    if (found == base.json->end()) continue;
    if (!found->is_array()) problems.add(fmt::format("{} of {}", list, name), "is not a list");
    json kept = json::array();
    for (size_t i = 0; found->is_array() && i < found->size(); ++i) {
      if (is_entry((*found)[i]))
        kept.push_back((*found)[i]);
      else
        problems.add(fmt::format("{}[{}] of {}", list, i, name), "has no id that is a text");
    }
    *found = std::move(kept);
  }
}

void add_base(ResolvedProfile& first, const ResolvedProfile& second, Problems& problems) {
  BaseAdder(first, second, problems).add();
}

void require_own_sources(const ResolvedProfile& base, const json& derived, Problems& problems) {
  if (!derived.contains("criteria") || !derived["criteria"].is_array()) return;
  const json& before = *base.json;
  for (const json& entry : derived["criteria"]) {
    const json* old = is_entry(entry) ? find_entry(before, "criteria", entry["id"]) : nullptr;
    if (old == nullptr) continue;
    const bool own =
        entry.contains("source") && entry["source"].is_object() && entry["source"].contains("ref");
    if (own || entry.contains("remove")) continue;
    json after = *old;
    after.merge_patch(entry);
    for (const char* key : kLimits) {
      if (!entry.contains(key) || value_text(*old, key) == value_text(after, key)) continue;
      problems.add(place_of("criteria", entry) + "." + key,
                   fmt::format("is {} in {} and {} here, without a \"source\" of its own: that of "
                               "the old limit says nothing of the new one",
                               value_text(*old, key), origin_of(base, place_of("criteria", entry)),
                               value_text(after, key)));
    }
  }
}

namespace {

std::vector<std::string> ids_of(const json& profile, const char* list) {
  std::vector<std::string> out;
  for (const json& entry : profile.value(list, json::array())) {
    if (is_entry(entry)) out.push_back(entry["id"]);
  }
  return out;
}

// Returns the id in a base that the entry probably means; nothing if the entry is complete or its
// id is known.
std::optional<std::string> misspelt_id(const json& entry, const std::vector<std::string>& known,
                                       const char* needed) {
  if (!is_entry(entry) || entry.contains(needed) || entry.contains("remove")) return std::nullopt;
  const std::string id = entry["id"];
  if (std::ranges::find(known, id) != known.end()) return std::nullopt;
  return nearest(id, known);
}

}  // namespace

void take_out_misspelt(const ResolvedProfile& base, json& derived, Problems& problems) {
  // Keys that every complete entry of the list has.
  constexpr std::pair<const char*, const char*> kNeeded[] = {{"steps", "case"},
                                                             {"criteria", "step"}};
  for (const auto& [list, needed] : kNeeded) {
    if (!derived.contains(list) || !derived[list].is_array()) continue;
    const std::vector<std::string> known = ids_of(*base.json, list);
    json kept = json::array();
    for (const json& entry : derived[list]) {
      if (const auto meant = misspelt_id(entry, known, needed))
        problems.add(place_of(list, entry), fmt::format("is in no base, did you mean {}?", *meant));
      else
        kept.push_back(entry);
    }
    derived[list] = std::move(kept);
  }
}

}  // namespace cb
