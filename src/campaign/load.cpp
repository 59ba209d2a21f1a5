#include "campaign/load.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "campaign/directory.h"
#include "campaign/journal.h"
#include "campaign/plan.h"
#include "core/error.h"
#include "core/file.h"
#include "core/sha256.h"
#include "core/text.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

// The document of a record file, or why it cannot be used.
struct Loaded {
  std::optional<Document> document;
  std::string problem;
};

std::string first_problem(const UsageError& e) {
  const Problem& first = e.problems().list.front();
  return fmt::format("{}{}{}", first.where, first.where.empty() ? "" : ": ", first.what);
}

Loaded load_document(const fs::path& path, const std::string& sha256) {
  std::string blame = "cannot be used";
  try {
    const std::string text = read_file(path);
    const bool changed = sha256_hex(text) != sha256;
    if (changed) blame = "was changed after the run";
    Document document = parse_document(text, path.filename().string());
    if (!changed) return {std::move(document), ""};
    return {std::nullopt, fmt::format("its record file {}: restore it or repeat the job", blame)};
  } catch (const UsageError& e) {
    return {std::nullopt, fmt::format("its record file {}: {}", blame, first_problem(e))};
  }
}

void fill_from_journal(Job& job, const JobKey& key, const Journal& journal, const fs::path& root) {
  const JobEvent* last = journal.last(key.name);
  if (const JobEvent* start = journal.last_start(key.name)) {
    job.command = start->command;
    job.started = start->at;
    job.log = CampaignPaths::log(key.name, "err");
  }
  if (last == nullptr) return;
  if (!last->ended) {
    job.reason = "it was interrupted";
    return;
  }
  job.state = last->state;
  job.reason = last->reason;
  job.ended = last->at;
  if (last->sha256.empty()) return;
  job.file = CampaignPaths::record(key.name);
  Loaded loaded = load_document(root / job.file, last->sha256);
  job.document = std::move(loaded.document);
  if (job.document || job.state != JobState::done) return;
  job.state = JobState::failed;
  job.reason = std::move(loaded.problem);
}

// The first inventory of every host, which is that of the first step that reached it.
std::vector<HostInventory> collect_inventories(const std::vector<Job>& jobs) {
  std::vector<HostInventory> out;
  std::set<std::string> seen;
  for (const Job& job : jobs) {
    if (!job.document) continue;
    for (const HostInventory& inventory : job.document->hosts) {
      if (seen.insert(inventory.host).second) out.push_back(inventory);
    }
  }
  return out;
}

void check_manifest(const CampaignPaths& paths, Campaign& campaign) {
  campaign.manifest = read_manifest(paths);
  for (const auto& [file, sha256] : campaign.manifest) {
    const bool inside = file.find("..") == std::string::npos && !file.starts_with('/');
    std::error_code ignored;
    if (!inside || !fs::is_regular_file(paths.root / file, ignored))
      campaign.warnings.push_back(
          fmt::format("{} of the manifest is not there", terminal_safe(file)));
    else if (sha256_hex_of_file(paths.root / file) != sha256)
      campaign.warnings.push_back(
          fmt::format("{} is not what the manifest says", terminal_safe(file)));
  }
}

void check_foreign(const CampaignPaths& paths, const std::vector<JobKey>& keys,
                   Campaign& campaign) {
  std::set<std::string> known;
  for (const JobKey& key : keys) known.insert(key.name + ".json");
  std::error_code ignored;
  std::vector<std::string> foreign;
  for (const auto& entry : fs::directory_iterator(paths.records(), ignored)) {
    const std::string name = entry.path().filename().string();
    if (!known.contains(name)) foreign.push_back(name);
  }
  std::sort(foreign.begin(), foreign.end());
  for (const std::string& name : foreign)
    campaign.warnings.push_back(
        fmt::format("records/{} belongs to no job and was left out", terminal_safe(name)));
}

}  // namespace

Campaign load_campaign(const fs::path& directory) {
  const CampaignPaths paths{directory};
  if (!fs::is_directory(directory))
    throw UsageError(directory.string(), "", "is not a campaign directory: there is none");
  if (!fs::exists(paths.campaign()))
    throw UsageError(directory.string(), "",
                     "is not a campaign directory: it has no campaign.json");
  CampaignFile file = parse_campaign_file(read_file(paths.campaign()), paths.campaign().string());
  const Journal journal = read_journal(paths.journal());
  Campaign campaign;
  campaign.id = file.id;
  campaign.started = file.started;
  campaign.ended = journal.finished;
  campaign.tool = journal.sessions.empty() ? file.tool : journal.sessions.back().tool;
  campaign.launcher = launcher_name(file.launch.launcher);
  for (const HostSlots& h : file.hosts) campaign.hosts.push_back(h.name);
  campaign.command = file.command;
  campaign.warnings = journal.warnings;
  const std::vector<JobKey> keys = plan_jobs(file.profile, campaign.hosts);
  for (const JobKey& key : keys) {
    Job job;
    job.step = file.profile.steps[key.step].id;
    job.host = key.host;
    fill_from_journal(job, key, journal, directory);
    campaign.jobs.push_back(std::move(job));
  }
  campaign.profile = std::move(file.profile);
  campaign.inventories = collect_inventories(campaign.jobs);
  check_manifest(paths, campaign);
  check_foreign(paths, keys, campaign);
  return campaign;
}

}  // namespace cb
