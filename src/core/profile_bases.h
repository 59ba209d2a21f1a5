#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "core/error.h"

// Several bases of one profile: the result runs and requires all that each base does, or says why
// it cannot.
namespace cb {

// A profile with its own bases merged in. For every entry ("steps[burn]") it keeps all versions
// that its bases had: they show whether an entry is that of a base or was derived from it.
struct ResolvedProfile {
  std::unique_ptr<nlohmann::json> json = {};  // null until a profile was read
  std::map<std::string, std::set<std::string>> versions = {};
  std::map<std::string, std::string> origins = {};  // entry → the base that it came from
  std::set<std::string> bases = {};  // names of its bases and of theirs; none under a prefix

  void note_origin(const std::string& base);
  // Adds the current entries to their versions.
  void note_versions();
};

// Puts `prefix.` before the ids of steps and criteria, and before the step names in criteria.
void rename_entries(ResolvedProfile& profile, const std::string& prefix);

// Of a base among several: each list must be one, and each entry must have an id, since they are
// joined by it. Takes out what is neither, with a problem that names the base.
void require_entries(ResolvedProfile& base, const std::string& name, Problems& problems);

// Adds a further base. An entry that both have must be the same, or one must be derived from the
// other and then wins. Anything else is a problem that names both.
void add_base(ResolvedProfile& first, const ResolvedProfile& second, Problems& problems);

// If `derived` changes a limit, it must name the new limit's source: the old source says nothing
// about it.
void require_own_sources(const ResolvedProfile& base, const nlohmann::json& derived,
                         Problems& problems);

// An incomplete new entry of `derived`, whose id is nearly that of an entry in the base, is
// misspelt: this adds a problem with the probable id, and removes the entry.
void take_out_misspelt(const ResolvedProfile& base, nlohmann::json& derived, Problems& problems);

}  // namespace cb
