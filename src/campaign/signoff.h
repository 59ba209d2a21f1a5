#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "campaign/directory.h"
#include "campaign/signoff_verify.h"
#include "core/ed25519.h"
#include "judge/handover.h"
#include "judge/verdict.h"

namespace cb {

// What a person says when signing.
struct SignoffRequest {
  std::string role;            // one of kSignoffRoles
  std::string name;            // who signs
  std::string title, company;  // may be empty
  std::string verdict;         // one of kSignoffVerdicts
  std::string until;           // day for every open item without one of its own; may be empty
  std::vector<std::pair<std::string, std::string>>
      items;  // open item (its id, or a text for a new one) and its day
  std::string remark;
  std::optional<std::filesystem::path> key_file;  // must not lie in the campaign
  std::optional<Ed25519Key> key;
  std::string at;  // now, UTC
  // Name and text of the reports to sign with the rest. They are written if nobody has signed yet.
  std::vector<std::pair<std::string, std::string>> reports;
};

// A signature, checked and shown before it is given. The campaign is locked as long as this object
// lives.
class Signing {
 public:
  // Writes nothing. Throws UsageError with every problem: an unfinished or changed campaign, a name
  // that no document can hold, a person who has signed already, a plain acceptance of open items
  // (which it lists), an open item without a day, a day that is past or no date.
  Signing(const std::filesystem::path& directory, const Campaign& campaign,
          const Judgement& judgement, const Paperwork& papers, const SignoffRequest& request);

  // The signature as it will be read, digest included.
  const Signoff& shown() const { return signoff_; }
  const std::vector<Signoff>& earlier() const { return earlier_; }

  // Writes the reports and then DIR/signoffs/NNN-ROLE.json.
  void write() const;

 private:
  CampaignPaths paths_;
  CampaignLock lock_;  // keeps runs and other signers out
  std::vector<std::pair<std::string, std::string>> reports_;
  std::vector<Signoff> earlier_;
  std::string text_;
  Signoff signoff_;
};

// Stores a time-stamp response (RFC 3161) beside the signature whose file it covers, and returns
// that signature. Throws UsageError if it is no response, covers no signature, or that signature
// has a stamp.
Signoff add_time_stamp(const std::filesystem::path& directory,
                       const std::filesystem::path& response);

// Throws UsageError if the campaign is signed: it must not run again.
void refuse_signed(const std::filesystem::path& directory, const std::string& what);

bool has_signatures(const std::filesystem::path& directory);

// Throws UsageError if one of `files` (except empty names and standard output) would replace what
// was measured or written down in the campaign's directory or in another one, or lies in a signed
// campaign.
void refuse_writing_over_evidence(const std::filesystem::path& directory,
                                  const std::vector<std::string>& files);

// Throws UsageError if a private key lies in the campaign, which is archived.
void refuse_key_inside(const std::filesystem::path& directory, const std::filesystem::path& key);

}  // namespace cb
