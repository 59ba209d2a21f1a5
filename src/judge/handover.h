#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/messages/said.h"
#include "judge/signoff_data.h"

namespace cb {

inline constexpr std::array<std::string_view, 3> kChecklistResults{"pass", "fail",
                                                                   "not-applicable"};

// The result of one checklist item that a person checked by hand.
struct ChecklistEntry {
  std::string item;    // the item's id in the profile
  std::string result;  // one of kChecklistResults
  std::string by, at, remark;
};

// One line of the issue tracking table.
struct Issue {
  std::string id;          // "I-001"
  std::string found;       // when it was found, UTC
  std::string host, part;  // "node017", "gpu 3"
  std::string serial;      // serial number of the part or host
  Said symptom;
  std::string evidence;
  std::string severity;  // critical, major, minor, note
  std::string owner, action;
  std::string old_part, new_part;  // serial numbers of a replacement
  std::string criterion;           // failed criteria, with blanks between; empty: found by hand
  std::string retest;              // campaign in which it passed, and its manifest's sha256
  std::string closed;              // when it was closed; empty while it is open
};

// Who delivers what to whom, and which clause of the contract asks for what
// ("clusterbench.site/1").
struct Site {
  std::string document;  // the document's number; the campaign's id if there is none
  std::string project, contract, supplier, customer, supervisor, location, scope, version;
  std::map<std::string, std::string> clauses;  // id of a criterion, or a domain → clause
  std::string standard;  // the report names this standard's items; empty: it names none
};

// What people add to a campaign, in files beside it.
struct Paperwork {
  SignoffCheck signatures;  // what verification found; empty if it was not asked for
  std::vector<ChecklistEntry> checklist;
  std::vector<Issue> issues;
  std::optional<Site> site;
};

}  // namespace cb
