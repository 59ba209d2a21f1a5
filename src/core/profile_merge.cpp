// Inheritance of profiles, on JSON: the derived profile's objects are merged over the base's, lists
// of things with an id are merged by id, so that a profile for one more kind of cluster states only
// what differs. Several bases (a product, a network) are merged one after the other.
#include "core/profile_merge.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/json_text.h"

namespace cb {
namespace {

using nlohmann::json;

bool is_list_by_id(const json& value) {
  return value.is_array() && std::all_of(value.begin(), value.end(), [](const json& e) {
           return e.is_object() && e.contains("id");
         });
}

json::iterator find_by_id(json& list, const json& id) {
  return std::find_if(list.begin(), list.end(), [&](const json& e) { return e.at("id") == id; });
}

void merge_into(json& base, const json& derived);

void merge_list(json& base, const json& derived) {
  std::set<json> seen;
  for (const json& element : derived) {
    if (!seen.insert(element["id"]).second)
      throw Error(fmt::format("the id {} stands twice in one list", element["id"].dump()));
    const auto found = find_by_id(base, element["id"]);
    const bool removed = element.value("remove", json(false)) == json(true);
    if (removed) {
      if (found == base.end())
        throw Error(fmt::format("removes {}, which its base does not have", element["id"].dump()));
      base.erase(found);
    } else if (found != base.end()) {
      merge_into(*found, element);
    } else {
      base.push_back(element);
    }
  }
}

void merge_into(json& base, const json& derived) {
  for (const auto& [key, value] : derived.items()) {
    if (value.is_null()) {
      base.erase(key);  // as in a JSON merge patch (RFC 7396)
    } else if (base.contains(key) && base[key].is_object() && value.is_object()) {
      merge_into(base[key], value);
    } else if (base.contains(key) && is_list_by_id(base[key]) && is_list_by_id(value)) {
      merge_list(base[key], value);
    } else {
      base[key] = value;
    }
  }
}

// One name, or a list of them: what later ones say is merged over what earlier ones say.
std::vector<std::string> base_names(const json& base, const std::string& name) {
  std::vector<std::string> out;
  for (const json& b : base.is_array() ? base : json::array({base})) {
    if (!b.is_string()) throw UsageError(name, "base", "is not the name of a profile");
    out.push_back(b.get<std::string>());
  }
  if (out.empty()) throw UsageError(name, "base", "is an empty list");
  return out;
}

void merge_profile(json& base, const json& derived, const std::string& name) {
  try {
    merge_into(base, derived);
  } catch (const UsageError&) {
    throw;
  } catch (const std::exception& e) {
    throw UsageError(name, "", e.what());
  }
}

json load_chain(const std::string& name, const ProfileSource& source,
                std::vector<std::string> chain) {
  if (std::find(chain.begin(), chain.end(), name) != chain.end()) {
    throw UsageError(name, "base",
                     fmt::format("leads back to itself: {} → {}", fmt::join(chain, " → "), name));
  }
  const auto text = source(name);
  if (!text) {
    throw UsageError(name, chain.empty() ? "" : "base",
                     fmt::format("there is no profile {}{}", name,
                                 chain.empty() ? "" : ", named as base of " + chain.back()));
  }
  json derived = parse_json(*text, name);
  require_schema(derived, "clusterbench.profile", 1, name);
  if (!derived.contains("base")) return derived;
  const std::vector<std::string> bases = base_names(derived["base"], name);
  derived.erase("base");
  chain.push_back(name);
  json out = load_chain(bases.front(), source, chain);
  for (size_t i = 1; i < bases.size(); ++i)
    merge_profile(out, load_chain(bases[i], source, chain), name);
  merge_profile(out, derived, name);
  return out;
}

}  // namespace

json resolve_profile_json(const std::string& name, const ProfileSource& source) {
  return load_chain(name, source, {});
}

}  // namespace cb
