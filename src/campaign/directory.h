#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "campaign/blame.h"
#include "campaign/hosts.h"
#include "campaign/journal_chain.h"
#include "campaign/launcher.h"
#include "core/profile.h"
#include "core/result.h"

// The campaign's directory: docs/guide/campaign.md.
namespace cb {

// The content of campaign.json, which is written once.
struct CampaignFile {
  std::string id;
  std::string started;
  Profile profile;
  ToolInfo tool;
  std::vector<HostSlots> hosts;
  LaunchSetup launch;
  std::vector<std::string> command;
  std::vector<HostSlots> spares = {};  // step in, in this order, for hosts that are taken out
  Exclude exclude = Exclude::lost;
  std::string public_key = {};  // public key that signs the journal; empty: nothing is signed
  bool chained = false;         // the journal's lines are linked
  bool redact = false;          // record no values of command lines and environments
};

// The root of the journal's chain; `text` is campaign.json.
ChainRoot chain_root(const CampaignFile& file, std::string_view text);

std::string campaign_file_text(const CampaignFile& file);
// Throws UsageError if the text is foreign, of a newer schema or truncated, or if the profile does
// not have its sha256.
CampaignFile parse_campaign_file(std::string_view text, const std::string& source);

struct CampaignPaths {
  std::filesystem::path root;

  static constexpr const char* kIssues = "issues.json";
  static constexpr const char* kChecklist = "checklist.json";
  static constexpr const char* kSignoffs = "signoffs";

  std::filesystem::path campaign() const { return root / "campaign.json"; }
  std::filesystem::path journal() const { return root / "journal.jsonl"; }
  std::filesystem::path manifest() const { return root / "MANIFEST.sha256"; }
  std::filesystem::path records() const { return root / "records"; }
  std::filesystem::path proofs() const { return root / "proofs"; }
  std::filesystem::path logs() const { return root / "logs"; }
  std::filesystem::path scratch() const { return root / "scratch"; }
  std::filesystem::path signoffs() const { return root / kSignoffs; }
  // These paths are relative to the root, with '/'.
  static std::string record(const std::string& job) { return "records/" + job + ".json"; }
  // The record of one attempt, if its document does not have the job's plain name. No step id and
  // no host name contains '+'.
  static std::string record(const std::string& job, int attempt) {
    return "records/" + job + "+" + std::to_string(attempt) + ".json";
  }
  // The document of a job with a planted fault, from run --prove.
  static std::string proof(const std::string& job, int attempt) {
    return "proofs/" + job + (attempt == 1 ? "" : "+" + std::to_string(attempt)) + ".json";
  }
  static std::string log(const std::string& job, const char* stream) {
    return "logs/" + job + "." + stream;
  }
};

// Held while a run works in the directory, so that no second one does. The kernel releases it when
// the process ends.
class CampaignLock {
 public:
  // Throws UsageError if another run holds it, Error if the file system has no locks.
  explicit CampaignLock(const CampaignPaths& paths);
  ~CampaignLock();
  CampaignLock(const CampaignLock&) = delete;
  CampaignLock& operator=(const CampaignLock&) = delete;

 private:
  int fd_ = -1;
};

// Throws UsageError if no new campaign can begin there: it is no directory, or not empty.
void refuse_used_directory(const CampaignPaths& paths);

// Makes the directory and its campaign.json and overwrites nothing. Throws UsageError if there is
// anything in it already, Error if it cannot be written.
void create_campaign(const CampaignPaths& paths, const CampaignFile& file);

// Removes record files that a killed job left half-written, and an empty scratch directory.
void remove_leftovers(const CampaignPaths& paths);

// The files that the manifest lists, sorted, relative to the directory.
std::vector<std::string> manifest_files(const CampaignPaths& paths);

// One digest of all manifest lines except the journal's. The journal ends with this digest, so a
// campaign's key signs every file, logs too.
std::string evidence_digest(const std::vector<std::pair<std::string, std::string>>& manifest);
// The same digest, of the files in the directory.
std::string evidence_digest(const CampaignPaths& paths);

// Writes MANIFEST.sha256 for campaign.json, journal.jsonl, records/, proofs/ and logs/.
void write_manifest(const CampaignPaths& paths);

// The manifest's lines (file, sha256); empty if there is none. Throws UsageError if malformed.
std::vector<std::pair<std::string, std::string>> read_manifest(const CampaignPaths& paths);

}  // namespace cb
