#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "judge/waivers.h"

namespace cb {

inline constexpr std::array<std::string_view, 4> kSignoffRoles{"supplier", "customer", "supervisor",
                                                               "witness"};
inline constexpr std::array<std::string_view, 3> kSignoffVerdicts{"accepted", "conditional",
                                                                  "rejected"};

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

// What verification says of one signature.
enum class SignatureState {
  valid,        // by a listed key, and all that it covers is as it was
  invalid,      // its own file or one that it covers was changed
  no_key,       // unchanged as far as digests tell; anybody can have written it
  unknown_key,  // by a key that is not listed: of whom, nobody says
};
const char* signature_state_name(SignatureState state);  // "valid", "unknown-key", …

// A public key that the reader trusts, and the name of its file.
struct TrustedKey {
  std::string public_key;  // hex
  std::string name;
};

// One person's signature under a campaign, "clusterbench.signoff/2".
struct Signoff {
  std::string file;  // signoffs/001-supplier.json
  int schema = 2;    // 1 has no title, no company, and the key outside of what is signed
  int number = 0;
  std::string role;  // one of kSignoffRoles
  std::string name, title, company;
  std::string verdict;  // one of kSignoffVerdicts
  std::string remark;
  std::string at;  // ISO 8601, UTC
  std::string campaign, profile_sha256, manifest_sha256;
  std::string result;  // of the judgement: accepted, not-accepted, incomplete
  std::vector<OpenItem> open;
  std::vector<Waiver> waivers;  // in force when it was signed
  std::map<std::string, SignedFile> files;
  std::string digest;                     // sha256 of the signed bytes, to be exchanged
  std::optional<std::string> public_key;  // hex, where it was signed with one

  // Found by verification, in no file.
  SignatureState state = SignatureState::no_key;
  std::string key_name;    // of the listed key
  std::string stamped_at;  // what its time stamp (RFC 3161) says; empty without one
};

// What verification found.
struct SignoffCheck {
  std::vector<Signoff> signoffs;             // that could be read
  std::vector<std::string> problems;         // changed, missing, added; each names its file
  std::vector<std::string> unauthenticated;  // later work that no listed key has signed
  std::vector<std::string> later;            // later work that one has
};

// The persons whose last word is a rejection.
std::vector<const Signoff*> rejections(const std::vector<Signoff>& signoffs);

}  // namespace cb
