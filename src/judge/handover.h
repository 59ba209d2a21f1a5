#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/messages/said.h"
#include "judge/signoff_data.h"

namespace cb {

// What somebody found who checked an item by hand.
struct ChecklistEntry {
  std::string item;    // id in the profile
  std::string result;  // pass, fail, not-applicable
  std::string by, at, remark;
};

// One line of the issue tracking table.
struct Issue {
  std::string id;          // "I-001"
  std::string found;       // when, UTC
  std::string host, part;  // "node017", "gpu 3"
  std::string serial;      // of the part or host
  Said symptom;
  std::string evidence;
  std::string severity;  // critical, major, minor, note
  std::string owner, action;
  std::string old_part, new_part;  // serial numbers of a replacement
  std::string criterion;           // that failed, several with a space; empty if found by hand
  std::string retest;              // campaign in which it passed, its manifest's sha256
  std::string closed;              // when; empty while open
};

// Who delivers what to whom, and which clause asks for what ("clusterbench.site/1").
struct Site {
  std::string document;  // its number; the campaign's id where nobody gave one
  std::string project, contract, supplier, customer, supervisor, location, scope, version;
  std::map<std::string, std::string> clauses;  // id of a criterion, or a domain → clause
  std::string standard;  // whose items the report names beside the tests; empty: none is claimed
};

// What people add to a campaign; files of their own beside it.
struct Paperwork {
  SignoffCheck signatures;  // as verified; empty where nobody asked
  std::vector<ChecklistEntry> checklist;
  std::vector<Issue> issues;
  std::optional<Site> site;
};

}  // namespace cb
