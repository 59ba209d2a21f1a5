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

// What a person says when it signs.
struct SignoffRequest {
  std::string role;            // one of kSignoffRoles
  std::string name;            // who signs
  std::string title, company;  // may be empty
  std::string verdict;         // one of kSignoffVerdicts
  std::string until;           // for every open item without a day of its own; may be empty
  std::vector<std::pair<std::string, std::string>>
      items;  // open item (an id, or a text of its own) and its day
  std::string remark;
  std::optional<std::filesystem::path> key_file;  // must not lie in the campaign
  std::optional<Ed25519Key> key;
  std::string at;  // now, UTC
  // The report that is signed with the rest, name and text; written where nobody has signed yet.
  std::vector<std::pair<std::string, std::string>> reports;
};

// A signature that has been checked and is shown before it is given. The campaign is locked as long
// as it lives.
class Signing {
 public:
  // Writes nothing. Throws UsageError with every problem: an unfinished or changed campaign, a name
  // that no document can hold, a person who has signed already, a plain acceptance of what is open
  // (with the list), an open item without a day, a day that is past or none.
  Signing(const std::filesystem::path& directory, const Campaign& campaign,
          const Judgement& judgement, const Paperwork& papers, const SignoffRequest& request);

  // As it will be read, digest included.
  const Signoff& shown() const { return signoff_; }
  const std::vector<Signoff>& earlier() const { return earlier_; }

  // Writes the reports and then DIR/signoffs/NNN-ROLE.json.
  void write() const;

 private:
  CampaignPaths paths_;
  CampaignLock lock_;  // no run, and no second signer
  std::vector<std::pair<std::string, std::string>> reports_;
  std::vector<Signoff> earlier_;
  std::string text_;
  Signoff signoff_;
};

// Stores a time-stamp response (RFC 3161) beside the signature whose file it is over, and returns
// that signature. Throws UsageError: no response, over none of them, or one is there already.
Signoff add_time_stamp(const std::filesystem::path& directory,
                       const std::filesystem::path& response);

// Throws UsageError if the campaign is signed: it must not be run again.
void refuse_signed(const std::filesystem::path& directory, const std::string& what);

bool has_signatures(const std::filesystem::path& directory);

// Throws UsageError if one of `files` (empty names and standard output left out) would replace what
// was measured or written down in the campaign's directory, or lies in a signed one.
void refuse_writing_over_evidence(const std::filesystem::path& directory,
                                  const std::vector<std::string>& files);

// Throws UsageError if a private key lies in the campaign, which is archived.
void refuse_key_inside(const std::filesystem::path& directory, const std::filesystem::path& key);

}  // namespace cb
