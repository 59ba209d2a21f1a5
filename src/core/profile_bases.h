#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "core/error.h"

// Several bases of one profile: each keeps all that it runs and requires, or it is said why not.
namespace cb {

// A profile with its own bases merged in, and for every entry ("steps[burn]") all versions that its
// bases gave it, so that a version is known from one that was made out of it.
struct ResolvedProfile {
  std::unique_ptr<nlohmann::json> json = {};  // null until there is one
  std::map<std::string, std::set<std::string>> versions = {};
  std::map<std::string, std::string> origins = {};  // which base an entry came from

  void note_origin(const std::string& base);
  // Adds the entries as they now stand to their versions.
  void note_versions();
};

// Puts `prefix.` before the ids of steps and criteria, and where criteria name a step.
void rename_entries(ResolvedProfile& profile, const std::string& prefix);

// Adds a further base. An entry that both have must be the same, or one be made out of the other,
// which then holds; all else is a problem that names both.
void add_base(ResolvedProfile& first, const ResolvedProfile& second, Problems& problems);

// A limit that `derived` changes says where the new one comes from: the source of the old one
// would be a false one.
void require_own_sources(const ResolvedProfile& base, const nlohmann::json& derived,
                         Problems& problems);

// An entry of `derived` that is new and not whole, and whose id is nearly that of one of the base,
// is that one misspelt: a problem with the name that is meant, and the entry is taken out.
void take_out_misspelt(const ResolvedProfile& base, nlohmann::json& derived, Problems& problems);

}  // namespace cb
