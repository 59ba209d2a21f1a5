#include "campaign/load.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "campaign/check_records.h"
#include "campaign/directory.h"
#include "campaign/journal.h"
#include "campaign/plan.h"
#include "core/error.h"
#include "core/file.h"
#include "core/parallel.h"
#include "core/sha256.h"
#include "core/text.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

// The document of a record file, or why it cannot be used.
struct Loaded {
  std::optional<Document> document;
  std::string problem;
  std::string sha256 = {};  // of the file as it is
};

std::string first_problem(const UsageError& e) {
  const Problem& first = e.problems().list.front();
  return fmt::format("{}{}{}", first.where, first.where.empty() ? "" : ": ", first.what);
}

Loaded load_document(const fs::path& path, const std::string& sha256, bool inventory) {
  std::string blame = "cannot be used";
  std::string found;
  try {
    const std::string text = read_file(path);
    found = sha256_hex(text);
    const bool changed = found != sha256;
    if (changed) blame = "was changed after the run";
    Document document = parse_document(text, path.filename().string(), inventory);
    if (!changed) return {std::move(document), "", std::move(found)};
    return {std::nullopt, fmt::format("its record file {}: restore it or repeat the job", blame),
            std::move(found)};
  } catch (const UsageError& e) {
    return {std::nullopt, fmt::format("its record file {}: {}", blame, first_problem(e)),
            std::move(found)};
  }
}

// A job whose record file is to be read.
struct Reading {
  Job* job = nullptr;
  std::string sha256;  // by the journal
  bool inventory =
      true;  // whether its hosts are of interest: only those of a host's first file are
  Loaded loaded = {};
};

void fill_from_journal(Job& job, const JobKey& key, const Journal& journal,
                       std::vector<Reading>& readings) {
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
  readings.push_back({.job = &job, .sha256 = last->sha256});
}

// Reads the files on all processors: nothing in one depends on another.
void read_all(std::vector<Reading>& readings, const fs::path& root) {
  on_all_processors(readings.size(), [&](size_t i) {
    Reading& r = readings[i];
    r.loaded = load_document(root / r.job->file, r.sha256, r.inventory);
  });
}

void take(Reading& reading) {
  Job& job = *reading.job;
  job.document = std::move(reading.loaded.document);
  if (job.document || job.state != JobState::done) return;
  job.state = JobState::failed;
  job.reason = std::move(reading.loaded.problem);
}

// Reads all record files. Every file of a host repeats its inventory: of the files that one host
// alone wrote only the first is asked for it, and another one where that one was no good.
void read_records(std::vector<Reading>& readings, const fs::path& root) {
  std::set<std::string> asked;
  for (Reading& r : readings) r.inventory = r.job->host.empty() || asked.insert(r.job->host).second;
  read_all(readings, root);
  std::set<std::string> known;
  for (const Reading& r : readings) {
    if (r.inventory && r.loaded.document) known.insert(r.job->host);
  }
  for (Reading& r : readings) {
    if (!r.inventory && r.loaded.document && known.insert(r.job->host).second)
      r.loaded = load_document(root / r.job->file, r.sha256, true);
  }
  for (Reading& r : readings) take(r);
}

// The first inventory of every host, which is that of the first step that reached it. They are
// taken out of the documents.
std::vector<HostInventory> collect_inventories(std::vector<Job>& jobs) {
  std::vector<HostInventory> out;
  std::set<std::string> seen;
  for (Job& job : jobs) {
    if (!job.document) continue;
    for (HostInventory& inventory : job.document->hosts) {
      if (seen.insert(inventory.host).second) out.push_back(std::move(inventory));
    }
    job.document->hosts.clear();
  }
  return out;
}

// `read`: the digests of the files that were read already.
void check_manifest(const CampaignPaths& paths, const std::map<std::string, std::string>& read,
                    Campaign& campaign) {
  campaign.manifest = read_manifest(paths);
  for (const auto& [file, sha256] : campaign.manifest) {
    const bool inside = file.find("..") == std::string::npos && !file.starts_with('/');
    const auto known = read.find(file);
    std::error_code ignored;
    if (known != read.end() && known->second == sha256) continue;
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
  std::vector<Reading> readings;
  campaign.jobs.resize(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    Job& job = campaign.jobs[i];
    job.step = file.profile.steps[keys[i].step].id;
    job.host = keys[i].host;
    fill_from_journal(job, keys[i], journal, readings);
  }
  read_records(readings, directory);
  std::map<std::string, std::string> digests;
  for (const Reading& r : readings) digests.emplace(r.job->file, r.loaded.sha256);
  campaign.profile = std::move(file.profile);
  campaign.inventories = collect_inventories(campaign.jobs);
  check_manifest(paths, digests, campaign);
  check_foreign(paths, keys, campaign);
  check_records(campaign);
  return campaign;
}

}  // namespace cb
