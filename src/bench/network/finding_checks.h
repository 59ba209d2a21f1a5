// Findings of what was looked at, as checks of the record that holds them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/result.h"

namespace cb {

// Adds a failed check for each finding, and one of the cluster that passed for each of `kinds` that
// was judged and not found. A kind that could not be judged has no check. `entity_of(finding)`
// names the part.
template <class Audit, class EntityOf>
void add_finding_checks(Record& record, const Audit& audit, const std::vector<std::string>& kinds,
                        const EntityOf& entity_of) {
  const size_t all = record.entity({"", "cluster", ""});
  std::set<std::string> found;
  for (const auto& f : audit.findings) {
    found.insert(f.kind);
    record.checks.push_back({.name = f.kind,
                             .passed = false,
                             .entity = record.entity(entity_of(f)),
                             .detail = f.what,
                             .finding = true});
  }
  for (const std::string& kind : kinds) {
    if (!found.contains(kind) && audit.judged.contains(kind))
      record.checks.push_back({.name = kind, .passed = true, .entity = all, .finding = true});
  }
}

}  // namespace cb
