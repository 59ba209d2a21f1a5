#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cb {

// A measurement after the repair that shows an issue to be gone.
struct Retest {
  std::string campaign;  // id of the campaign that was judged
  std::string started;   // of that campaign
  std::string host;      // that it covers
  std::string evidence;  // what passed, in words
  std::string sha256;    // of its manifest
};

// One row of the issue tracking table, docs/acceptance.md.
struct Issue {
  std::string id;        // ISS-001
  std::string found_at;  // ISO 8601, UTC
  std::string host;
  std::string serial;
  std::string symptom;
  std::string evidence;
  std::string severity;  // fatal, serious, minor, notice
  std::string owner;     // who must act
  std::string action;    // what was or will be done
  std::string part;      // what was replaced
  std::string old_serial, new_serial;
  std::string criterion;  // id, where it came from the judgement
  std::string entity;     // name, likewise
  std::optional<Retest> retest = {};
  std::string closed_at;  // empty while open

  bool open() const { return closed_at.empty(); }
};

// The result of one item of the profile's checklist.
struct ChecklistResult {
  std::string item;    // its id in the profile
  std::string result;  // pass, fail, not-applicable
  std::string who;
  std::string when;  // YYYY-MM-DD
  std::string remark;
};

}  // namespace cb
