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

// Something that stands in the way of a plain acceptance, or that the parties agreed to mend.
struct OpenItem {
  std::string kind;   // criterion, checklist, issue, agreed (free text)
  std::string text;   // the id, or the text
  std::string state;  // fail, incomplete, open; empty for free text
  std::string due;    // YYYY-MM-DD; empty in a rejection
};

struct SignedFile {
  std::string sha256;
  uint64_t bytes = 0;
};

// The result of verifying one signature.
enum class SignatureState {
  valid,        // a listed key signed it, and all that it covers is unchanged
  invalid,      // its own file, or a file that it covers, was changed
  no_key,       // no key signed it; the digests match, but anybody can have written it
  unknown_key,  // a key that is not listed signed it: nobody knows whose
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
  int schema = 2;    // version 1 has no title and no company, and does not sign the key
  int number = 0;
  std::string role;  // one of kSignoffRoles
  std::string name, title, company;
  std::string verdict;  // one of kSignoffVerdicts
  std::string remark;
  std::string at;  // ISO 8601, UTC
  std::string campaign, profile_sha256, manifest_sha256;
  std::string result;  // the judgement: accepted, not-accepted, incomplete
  std::vector<OpenItem> open;
  std::vector<Waiver> waivers;  // those in force when the person signed
  std::map<std::string, SignedFile> files;
  std::string digest;                     // sha256 of the signed bytes, for the parties to exchange
  std::optional<std::string> public_key;  // hex; nothing if it was signed without a key

  // Verification fills these in; no file has them.
  SignatureState state = SignatureState::no_key;
  std::string key_name;    // the listed key's name
  std::string stamped_at;  // the time in its time stamp (RFC 3161); empty without one
};

// What verification found.
struct SignoffCheck {
  std::vector<Signoff> signoffs;             // signatures that could be read
  std::vector<std::string> problems;         // changed, missing, added; each names its file
  std::vector<std::string> unauthenticated;  // later work that no listed key has signed
  std::vector<std::string> later;            // later work that a listed key has signed
};

// Returns the last sign-off of each person whose last verdict is a rejection.
std::vector<const Signoff*> rejections(const std::vector<Signoff>& signoffs);

}  // namespace cb
