#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/signoff_data.h"
#include "analysis/verdict.h"

namespace cb {

// What a party says when it signs.
struct SignoffRequest {
  std::string role;  // supplier, customer, witness
  std::string name;
  std::string verdict;                        // accepted, conditional, rejected
  std::string until;                          // for every open item without a day of its own
  std::map<std::string, std::string> due;     // open item (id of a criterion) → YYYY-MM-DD
  std::string remark;
  std::optional<std::filesystem::path> key;  // private Ed25519 key, PEM
  std::string at;                             // now, UTC
};

// Writes DIR/signoffs/NNN-ROLE.json over every file of the campaign as it is now, earlier
// signatures included. Throws UsageError: an unfinished campaign, a plain acceptance of what fails
// or was not measured (with the list), an open item without a day, a day that is past or no day.
std::filesystem::path sign_campaign(const std::filesystem::path& directory,
                                    const Campaign& campaign, const Judgement& judgement,
                                    const SignoffRequest& request);

// The signatures of a campaign in their order. Throws UsageError for one that cannot be read.
std::vector<Signoff> read_signoffs(const std::filesystem::path& directory);

// What verification found.
struct SignoffCheck {
  std::vector<std::string> problems;    // with the file; empty if nothing was changed
  std::vector<std::string> unsigned_files;  // there, and covered by no signature
  std::vector<Signoff> signoffs;        // that could be read
};

// Compares every byte that was signed with what is there. `trusted`: public keys (hex) of which
// each must have signed; empty for none asked for.
SignoffCheck verify_campaign(const std::filesystem::path& directory,
                             const std::vector<std::string>& trusted);

// The campaign's files as one tar archive that only depends on their names and bytes: ordered,
// owned by nobody in particular, dated by the campaign's begin.
void bundle_campaign(const std::filesystem::path& directory, const std::filesystem::path& archive);

}  // namespace cb
