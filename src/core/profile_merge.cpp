// Inheritance of profiles, on JSON. The derived profile's objects are merged over the base's, and
// lists of things with an id are merged by id, so that a profile for one more kind of cluster
// states only what differs. profile_bases.cpp combines several bases (a product, a network).
#include "core/profile_merge.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/json/json_text.h"
#include "core/profile_bases.h"
#include "core/profile_composed.h"

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
      base.erase(key);  // removed, as in a JSON merge patch (RFC 7396)
    } else if (base.contains(key) && base[key].is_object() && value.is_object()) {
      merge_into(base[key], value);
    } else if (base.contains(key) && is_list_by_id(base[key]) && is_list_by_id(value)) {
      merge_list(base[key], value);
    } else {
      base[key] = value;
    }
  }
}

struct Base {
  std::string name;
  std::string as;  // prefix of its ids; empty: ids stay
  std::string label() const { return as.empty() ? name : name + " as " + as; }
};

Base read_base(const json& b, const std::string& name) {
  const auto text = [&](const char* key) { return b.contains(key) && b[key].is_string(); };
  if (b.is_string()) return {b.get<std::string>(), ""};
  if (!b.is_object() || b.size() != 2 || !text("profile") || !text("as"))
    throw UsageError(name, "base",
                     "is neither the name of a profile nor {\"profile\": NAME, \"as\": PREFIX}");
  Base out{b["profile"].get<std::string>(), b["as"].get<std::string>()};
  constexpr std::string_view letters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  if (out.as.empty() || out.as.find_first_not_of(letters) != std::string::npos)
    throw UsageError(name, "base.as", "is not made of letters, digits, _ and -");
  return out;
}

// Reads one base, or a list of bases.
std::vector<Base> read_bases(const json& base, const std::string& name) {
  std::vector<Base> out;
  for (const json& b : base.is_array() ? base : json::array({base}))
    out.push_back(read_base(b, name));
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

ResolvedProfile load_chain(const std::string& name, const ProfileSource& source,
                           std::vector<std::string> chain, Problems& problems);

// A profile beside one that was derived from it: the derived one may ask for less, so that limits
// which somebody named would be gone without a word.
void refuse_ancestors(const std::vector<Base>& bases, const std::vector<ResolvedProfile>& read,
                      Problems& problems) {
  for (size_t i = 0; i < bases.size(); ++i) {
    for (const Base& other : bases) {
      if (!other.as.empty() || !read[i].bases.contains(other.name)) continue;
      problems.add("base",
                   fmt::format("names {} beside {}, which changes it: name {} alone, or keep "
                               "both with {{\"profile\": NAME, \"as\": PREFIX}}",
                               other.name, bases[i].label(), bases[i].name));
    }
  }
}

ResolvedProfile load_base(const Base& base, const ProfileSource& source,
                          const std::vector<std::string>& chain, Problems& problems) {
  ResolvedProfile out = load_chain(base.name, source, chain, problems);
  if (!base.as.empty()) {
    rename_entries(out, base.as);
    out.bases.clear();
  }
  out.note_origin(base.label());
  return out;
}

ResolvedProfile load_bases(const std::vector<Base>& bases, const ProfileSource& source,
                           const std::vector<std::string>& chain, Problems& problems) {
  std::vector<ResolvedProfile> read;
  for (const Base& base : bases) {
    read.push_back(load_base(base, source, chain, problems));
    if (bases.size() > 1) require_entries(read.back(), base.label(), problems);
  }
  refuse_ancestors(bases, read, problems);
  ResolvedProfile out = std::move(read.front());
  for (size_t i = 1; i < read.size(); ++i) add_base(out, read[i], problems);
  for (const Base& base : bases) {
    if (base.as.empty()) out.bases.insert(base.name);
  }
  return out;
}

ResolvedProfile load_chain(const std::string& name, const ProfileSource& source,
                           std::vector<std::string> chain, Problems& problems) {
  if (std::find(chain.begin(), chain.end(), name) != chain.end()) {
    throw UsageError(name, "base",
                     fmt::format("leads back to itself: {} → {}", fmt::join(chain, " → "), name));
  }
  auto text = source(name);
  if (!text) text = composed_profile(name, source);
  if (!text) {
    throw UsageError(name, chain.empty() ? "" : "base",
                     fmt::format("there is no profile {}{}", name,
                                 chain.empty() ? "" : ", named as base of " + chain.back()));
  }
  json derived = parse_json(*text, name);
  require_schema(derived, "clusterbench.profile", 1, name);
  ResolvedProfile out;
  if (!derived.contains("base")) {
    out.json = std::make_unique<json>(std::move(derived));
  } else {
    const std::vector<Base> bases = read_bases(derived["base"], name);
    derived.erase("base");
    chain.push_back(name);
    out = load_bases(bases, source, chain, problems);
    take_out_misspelt(out, derived, problems);
    require_own_sources(out, derived, problems);
    merge_profile(*out.json, derived, name);
  }
  out.note_versions();
  return out;
}

}  // namespace

json resolve_profile_json(const std::string& name, const ProfileSource& source,
                          Problems& problems) {
  return std::move(*load_chain(name, source, {}, problems).json);
}

}  // namespace cb
