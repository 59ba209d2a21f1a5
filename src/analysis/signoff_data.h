#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/waivers.h"

namespace cb {

// One party's signature under a campaign ("clusterbench.signoff/1", docs/signoff.md).
struct Signoff {
  std::string file;  // signoffs/001-supplier.json
  std::string role, name, verdict, remark, at;
  std::string campaign, profile_sha256, manifest_sha256;
  std::string result;                                          // accepted, not-accepted, incomplete
  std::map<std::string, std::string> open;                     // item → day; empty: no day
  std::vector<Waiver> waivers;                                 // in force when it was signed
  std::vector<std::pair<std::string, std::string>> files;      // file, sha256
  std::optional<std::string> public_key;                       // hex, where it was signed with one
};

}  // namespace cb
