#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/waivers.h"

namespace cb {

// What stands in the way of a plain acceptance, or was agreed to be mended.
struct OpenItem {
  std::string kind;   // criterion, checklist, issue, agreed (free text)
  std::string text;   // the id, or the text
  std::string state;  // fail, incomplete, open; empty for free text
  std::string due;    // YYYY-MM-DD; empty with a rejection
};

struct SignedFile {
  std::string sha256;
  uint64_t bytes = 0;
};

// One party's signature under a campaign, "clusterbench.signoff/1".
struct Signoff {
  std::string file;  // signoffs/001-supplier.json
  int number = 0;
  std::string role;  // supplier, customer, witness
  std::string name;
  std::string verdict;  // accepted, conditional, rejected
  std::string remark;
  std::string at;  // ISO 8601, UTC
  std::string campaign, profile_sha256, manifest_sha256;
  std::string result;  // of the judgement: accepted, not-accepted, incomplete
  std::vector<OpenItem> open;
  std::vector<Waiver> waivers;  // in force when it was signed
  std::map<std::string, SignedFile> files;
  std::string digest;                     // sha256 of the signed bytes, to be exchanged
  std::optional<std::string> public_key;  // hex, where it was signed with one
};

}  // namespace cb
