#include "campaign/evidence_files.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <vector>

#include "campaign/files.h"
#include "campaign/load_proofs.h"
#include "campaign/record_readings.h"
#include "core/file.h"
#include "core/sha256.h"
#include "core/text.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

// A campaign that has ended has a manifest, and every file of it stands there.
void check_manifest_is_whole(const CampaignPaths& paths, Campaign& campaign) {
  if (campaign.ended.empty()) {
    campaign.warnings.emplace_back(said("load.not_ended"));
    return;
  }
  if (campaign.manifest.empty()) {
    campaign.warnings.emplace_back(said("manifest.missing"));
    return;
  }
  std::set<std::string> listed;
  for (const auto& [file, sha256] : campaign.manifest) listed.insert(file);
  for (const std::string& file : manifest_files(paths)) {
    if (!listed.contains(file))
      campaign.warnings.push_back(said("manifest.not_listed", terminal_safe(file)));
  }
}

}  // namespace

void check_manifest(const CampaignPaths& paths, const std::map<std::string, std::string>& read,
                    const Journal& journal, Campaign& campaign) {
  try {
    campaign.manifest = read_manifest(paths);
  } catch (const UsageError& e) {
    campaign.warnings.push_back(said("manifest.unusable", first_problem(e)));
    return;
  }
  check_manifest_is_whole(paths, campaign);
  // Without a key this says nothing that the manifest does not say itself.
  const bool is_sealed = !campaign.public_key.empty() && !journal.files.empty();
  if (!campaign.ended.empty() && !campaign.manifest.empty() && is_sealed &&
      evidence_digest(campaign.manifest) != journal.files)
    campaign.warnings.emplace_back(said("manifest.other"));
  for (const auto& [file, sha256] : campaign.manifest) {
    const bool inside = is_inside(file);
    const auto known = read.find(file);
    std::error_code ignored;
    if (known != read.end() && known->second == sha256) continue;
    if (!inside || !fs::is_regular_file(paths.root / file, ignored))
      campaign.warnings.push_back(said("manifest.gone", terminal_safe(file)));
    else if (sha256_hex_of_file(paths.root / file) != sha256)
      campaign.warnings.push_back(said("manifest.differs", terminal_safe(file)));
  }
}

void check_foreign(const CampaignPaths& paths, const std::map<std::string, std::string>& read,
                   const Journal& journal, Campaign& campaign) {
  std::error_code ignored;
  std::vector<std::string> foreign;
  for (const auto& entry : fs::directory_iterator(paths.records(), ignored)) {
    const std::string name = entry.path().filename().string();
    if (!read.contains("records/" + name)) foreign.push_back(name);
  }
  std::sort(foreign.begin(), foreign.end());
  for (const std::string& file : foreign_proofs(paths, journal))
    campaign.warnings.push_back(said(
        file.ends_with(".partial") ? "load.proof_outlived" : "load.foreign", terminal_safe(file)));
  for (const std::string& name : foreign)
    campaign.warnings.push_back(said(name.ends_with(".partial") ? "load.outlived" : "load.foreign",
                                     "records/" + terminal_safe(name)));
}

}  // namespace cb
