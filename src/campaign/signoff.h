#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/paperwork.h"
#include "analysis/verdict.h"

namespace cb {

// What a party says when it signs.
struct SignoffRequest {
  std::string role;     // supplier, customer, witness
  std::string name;     // who signs
  std::string verdict;  // accepted, conditional, rejected
  std::string until;    // for every open item without a day of its own; may be empty
  std::vector<std::pair<std::string, std::string>>
      items;  // open item (an id, or a text of its own) and its day
  std::string remark;
  std::optional<std::filesystem::path> key;  // private Ed25519 key, PEM
  std::string at;                            // now, UTC
};

// Writes DIR/signoffs/NNN-ROLE.json over every file of the campaign as it is now, earlier
// signatures included, and returns it as read back. Throws UsageError with every problem: an
// unfinished or changed campaign, a plain acceptance of what is open (with the list), an open item
// without a day, a day that is past or none.
Signoff sign_campaign(const std::filesystem::path& directory, const Campaign& campaign,
                      const Judgement& judgement, const Paperwork& papers,
                      const SignoffRequest& request);

// What verification found.
struct SignoffCheck {
  std::vector<Signoff> signoffs;      // that could be read
  std::vector<std::string> problems;  // changed, missing, added; each names its file
  std::vector<std::string> later;     // issues or checklist that went on after the signatures
};

// Compares every byte that was signed with what is there. `trusted`: public keys (hex) each of
// which must have signed. Throws UsageError if the directory cannot be read.
SignoffCheck verify_campaign(const std::filesystem::path& directory,
                             const std::vector<std::string>& trusted);

// Throws UsageError if the campaign is signed: it must not be run again.
void refuse_signed(const std::filesystem::path& directory, const std::string& what);

// Throws UsageError if one of `files` (empty names left out) lies in the signed campaign's
// directory: writing it would break the signatures.
void refuse_writing_into_signed(const std::filesystem::path& directory,
                                const std::vector<std::string>& files);

}  // namespace cb
