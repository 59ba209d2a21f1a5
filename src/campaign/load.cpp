#include "campaign/load.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include <fmt/format.h>

#include "campaign/attempts.h"
#include "campaign/bind.h"
#include "campaign/check_records.h"
#include "campaign/command_line.h"
#include "campaign/directory.h"
#include "campaign/drills.h"
#include "campaign/files.h"
#include "campaign/journal.h"
#include "campaign/load_proofs.h"
#include "campaign/lost.h"
#include "campaign/other_hosts.h"
#include "campaign/plan.h"
#include "campaign/rails.h"
#include "campaign/roster.h"
#include "campaign/soak_cycles.h"
#include "core/error.h"
#include "core/file.h"
#include "core/parallel.h"
#include "core/sha256.h"
#include "core/text.h"
#include "judge/delivery.h"
#include "judge/verdict_gaps.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

// The document of a record file, or why it cannot be used.
struct Loaded {
  std::optional<Document> document = {};
  Said problem = {};
  bool lost = false;        // it is gone, or not as it was written
  std::string sha256 = {};  // of the file as it is
};

Said first_problem(const UsageError& e) {
  const Problem& first = e.problems().list.front();
  return first.where.empty() ? first.said() : said("said.of", first.where, first.said());
}

Loaded lost_file(const JobEvent& event, const Said& what, std::string sha256) {
  return {.problem = lost_reason(event, what), .lost = true, .sha256 = std::move(sha256)};
}

// A torn file says so.
Said change_with_problem(const std::string& text, const Said& change) {
  try {
    parse_document(text, "", false);
    return change;
  } catch (const UsageError& e) {
    return said("said.with", change, first_problem(e));
  }
}

Loaded load_document(const fs::path& root, const JobEvent& event, bool inventory) {
  std::string text;
  try {
    text = read_file(root / event.file);
  } catch (const UsageError& e) {
    return lost_file(event, first_problem(e), "");
  }
  if (const auto change = change_of(text, event.sha256))
    return lost_file(event, change_with_problem(text, *change), sha256_hex(text));
  try {
    return {.document = parse_document(text, fs::path(event.file).filename().string(), inventory),
            .sha256 = event.sha256};
  } catch (const UsageError& e) {
    return {.problem = said("end.unusable_record", first_problem(e)), .sha256 = event.sha256};
  }
}

// A record file that is to be read.
struct Reading {
  Job* job = nullptr;
  const JobKey* key = nullptr;
  JobEvent event;      // that the journal has of it
  bool counts = true;  // its figures are those of the job; else only what no attempt takes back
  bool last = true;    // of its job
  bool other_hosts = false;  // it ran on another set of hosts than the job's last attempt
  bool inventory =
      true;  // whether its hosts are of interest: only those of a host's first file are
  Loaded loaded = {};
  std::optional<Said> misfit = {};  // why the document is not one of this job
};

void list_attempts(Job& job, const JobKey& key, const Journal& journal,
                   std::vector<Reading>& readings) {
  const std::vector<JobEvent> documents = journal.documents(key.name);
  const size_t first = first_that_counts(documents);
  for (size_t i = 0; i < documents.size(); ++i) {
    job.file = documents[i].file;
    readings.push_back({.job = &job,
                        .key = &key,
                        .event = documents[i],
                        .counts = i >= first,
                        .last = i + 1 == documents.size()});
  }
}

// Marks what ran before a host went, came back or was replaced, and notes what of it was bad.
void mark_other_hosts(std::vector<Reading>& readings, const Journal& journal, Launcher launcher,
                      Campaign& campaign) {
  std::map<std::string, std::set<int>> attempts;
  std::map<std::string, int> unmet;
  for (Reading& r : readings) {
    if (!r.key->host.empty()) continue;
    const std::string& job = r.key->name;
    if (!attempts.contains(job)) attempts[job] = attempts_on_other_hosts(job, journal, launcher);
    r.other_hosts = attempts[job].contains(r.event.attempt);
    if (r.other_hosts) unmet[job] += r.event.unmet;
  }
  for (const auto& [job, n] : unmet) {
    if (n > 0)
      campaign.notes.push_back(
          said("load.other_hosts", terminal_safe(job), attempts[job].size(), n));
  }
}

// Hosts that were taken out and take part again: their table has no row of it.
void note_returned(const Roster& roster, const Journal& journal, Campaign& campaign) {
  std::map<std::string, std::vector<const RosterEvent*>> gone;
  for (const RosterEvent& e : journal.roster) {
    if (!e.back && roster.takes_part(e.out.host)) gone[e.out.host].push_back(&e);
  }
  for (const auto& [host, events] : gone)
    campaign.notes.push_back(said("load.came_back", terminal_safe(host), events.size(),
                                  events.back()->out.at, events.back()->out.reason));
}

// Attempts that left nothing behind: nobody knows what they measured.
void note_lost_attempts(const JobKey& key, const Journal& journal, Campaign& campaign) {
  const auto events = journal.jobs.find(key.name);
  const std::vector<JobEvent> documents = journal.documents(key.name);
  if (events == journal.jobs.end() || documents.empty()) return;
  for (const JobEvent& e : events->second) {
    if (e.ended || std::ranges::find(documents, e.attempt, &JobEvent::attempt) != documents.end())
      continue;
    const auto end = std::ranges::find_if(events->second, [&](const JobEvent& other) {
      return other.ended && other.attempt == e.attempt && !other.reason.empty();
    });
    campaign.notes.push_back(
        end == events->second.end()
            ? said("load.no_record", e.attempt, terminal_safe(key.name))
            : said("load.no_record_but", e.attempt, terminal_safe(key.name), end->reason));
  }
}

void fill_from_journal(Job& job, const JobKey& key, const Journal& journal,
                       std::vector<Reading>& readings) {
  list_attempts(job, key, journal, readings);
  const JobEvent* last = journal.last(key.name);
  if (const JobEvent* start = journal.last_start(key.name)) {
    if (key.cycle <= 1) job.command = start->command;  // that of later cycles is the same
    job.started = start->at;
    job.log = CampaignPaths::log(key.name, "err");
  }
  if (last == nullptr) return;
  if (!last->ended) {
    job.reason = said("end.interrupted");
    return;
  }
  job.state = last->state;
  job.reason = last->reason;
  job.ended = last->at;
}

// Of a soak's cycles between the first and the last no time lines are kept: a week on a hundred
// hosts has more of them than memory, no judgement looks at them, and they stand in their files.
void drop_time_lines(const JobKey& key, size_t cycles, Document& document) {
  if (key.cycle <= 1 || key.cycle >= cycles) return;
  for (Record& record : document.records) std::vector<Series>().swap(record.telemetry.series);
}

// Reads the files on all processors: nothing in one depends on another.
void read_all(std::vector<Reading>& readings, const fs::path& root, size_t cycles) {
  on_all_processors(readings.size(), [&](size_t i) {
    Reading& r = readings[i];
    r.loaded = load_document(root, r.event, r.inventory);
    if (r.loaded.document) drop_time_lines(*r.key, cycles, *r.loaded.document);
  });
}

void count_as_failed(Job& job, const Reading& r) {
  job.state = JobState::failed;
  job.reason = r.loaded.problem;
  job.curable = !r.loaded.lost || is_replaceable(r.event);
}

// A file that is gone or changed. A later attempt stands for it only where the journal knows of
// nothing in it that speaks against the machine.
void miss(const Reading& r, Campaign& campaign) {
  const bool stands = !r.last && is_replaceable(r.event);
  const bool fails = !r.loaded.lost ? r.job->state == JobState::done : !stands;
  if (r.counts && fails) count_as_failed(*r.job, r);
  if (r.event.bad.any())
    campaign.warnings.push_back(said("load.bad", terminal_safe(r.event.file),
                                     r.event.bad.failed_checks, r.event.bad.errored,
                                     r.event.bad.skipped));
  else if (r.other_hosts && r.event.unmet > 0)
    campaign.warnings.push_back(
        said("load.bad_figures", terminal_safe(r.event.file), r.event.unmet));
  else if (!r.counts || !fails)
    campaign.notes.push_back(said("load.earlier_unusable", terminal_safe(r.event.file)));
}

// A job with a record that belongs to something else is not measured.
void refuse_misfit(Job& job, const std::string& file, const Said& why) {
  job.state = JobState::failed;
  job.reason = said("bind.not_of_job", terminal_safe(file), why);
  job.curable = false;
  job.document.reset();
}

void refuse_misfits(const std::vector<Reading>& readings) {
  for (const Reading& r : readings) {
    if (r.misfit) refuse_misfit(*r.job, r.event.file, *r.misfit);
  }
}

// What each record must be of.
struct Expected {
  const Journal& journal;
  const CampaignFile& file;
  const Roster& roster;
  SlotsOfHosts slots;
  std::vector<const CaseInfo*> cases;                // of each step; null if it is not known
  std::map<std::string, HostInventory> inventories;  // by the names that hosts were asked for

  Expected(const Journal& j, const CampaignFile& f, const Roster& r, const Catalogue& catalogue)
      : journal(j), file(f), roster(r), slots(slots_of_hosts(f)) {
    for (const Step& step : f.profile.steps) cases.push_back(case_of(step, catalogue));
  }
};

// What the first documents say that hosts have: by that a run names rails.
std::map<std::string, HostInventory> inventories_of(const std::vector<Reading>& readings) {
  std::map<std::string, HostInventory> out;
  for (const Reading& r : readings) {
    if (!r.loaded.document) continue;
    for (const HostInventory& inventory : r.loaded.document->hosts)
      out.emplace(r.job->host.empty() ? inventory.host : r.job->host, inventory);
  }
  return out;
}

// The step as the job had to run it: with the names of its rail on the hosts that ran it.
Step step_of_job(const JobKey& key, const JobEvent* start, const Expected& expected) {
  const Step& step = expected.file.profile.steps[key.step];
  if (!key.rail || start == nullptr) return step;
  std::vector<HostSlots> hosts;
  for (std::string& host : launched_hosts(start->command, expected.file.launch.launcher))
    hosts.push_back({std::move(host)});
  if (hosts.empty()) hosts = expected.file.hosts;
  return step_on_rail(step, find_rail(step, *key.rail, rail_hosts(hosts, expected.inventories)));
}

std::optional<Said> misfit_of(const Reading& r, const Expected& expected) {
  const auto& [journal, file, roster, slots, cases, inventories] = expected;
  const JobEvent* start = journal.start_of(r.key->name, r.event.attempt);
  const bool known = start != nullptr && start->session < journal.sessions.size();
  const ToolInfo& tool = known ? journal.sessions[start->session].tool : file.tool;
  const Step step = step_of_job(*r.key, start, expected);
  return misfit({file, slots, *r.key, step, cases[r.key->step], CampaignPaths::record(r.key->name),
                 start, tool, roster.occupants(r.key->places)},
                *r.loaded.document);
}

void find_misfits(std::vector<Reading>& readings, const Expected& expected) {
  on_all_processors(readings.size(), [&](size_t i) {
    Reading& r = readings[i];
    if (!r.loaded.document) return;
    r.misfit = misfit_of(r, expected);
    // Nothing asks for it once it is compared, and the journal has the command.
    std::vector<std::string>().swap(r.loaded.document->run.argv);
  });
}

// What the records say of when and where they were taken. Each attempt has times of its own.
std::vector<RecordOrigin> origins_of(const std::vector<Reading>& readings, const Journal& journal) {
  std::vector<RecordOrigin> out;
  for (const Reading& r : readings) {
    if (!r.loaded.document) continue;
    RecordOrigin origin = origin_of(*r.job, r.event.file, r.loaded.document->run);
    if (const JobEvent* start = journal.start_of(r.key->name, r.event.attempt))
      origin.began = start->at;
    origin.ended = r.event.at;
    out.push_back(std::move(origin));
  }
  return out;
}

// What a pair, a group or a rail measured as a whole is a figure of its own, and not the cluster's.
void name_group(const Job& job, Document& document) {
  for (Record& record : document.records) {
    for (Entity& entity : record.entities) {
      if (entity.kind == "cluster") entity = {"", "group", job_place(job)};
    }
  }
}

// Gives every job what its attempts say together.
void take(std::vector<Reading>& readings, Campaign& campaign) {
  std::map<Job*, std::vector<AttemptDocument>> attempts;
  std::set<Job*> counted;
  for (Reading& r : readings) {
    if (!r.loaded.document) {
      miss(r, campaign);
      continue;
    }
    Document& document = *r.loaded.document;
    if (!r.job->group.empty()) name_group(*r.job, document);
    r.job->attempts.push_back(
        {r.event.attempt, r.event.file, document.run.started, document.run.ended});
    // Of two that count the later adds to the earlier, also where one between them is lost.
    const bool adds = r.counts ? !counted.insert(r.job).second : r.event.adds;
    attempts[r.job].push_back({r.event.attempt, adds, std::move(document)});
  }
  for (auto& [job, documents] : attempts) {
    std::ranges::stable_sort(job->attempts, {}, &JobAttempt::number);
    job->document = join_attempts(std::move(documents));
  }
}

// Reads all record files. Every file of a host repeats its inventory: of the files that one host
// alone wrote only the first is asked for it, and another one where that one was no good.
void read_records(std::vector<Reading>& readings, const fs::path& root, size_t cycles) {
  std::set<std::string> asked;
  for (Reading& r : readings) r.inventory = r.job->host.empty() || asked.insert(r.job->host).second;
  read_all(readings, root, cycles);
  std::set<std::string> known;
  for (const Reading& r : readings) {
    if (r.inventory && r.loaded.document) known.insert(r.job->host);
  }
  for (Reading& r : readings) {
    if (!r.inventory && r.loaded.document && known.insert(r.job->host).second)
      r.loaded = load_document(root, r.event, true);
  }
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

// `read`: the digests of the files that were read already.
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

}  // namespace

Campaign load_campaign(const fs::path& directory, const Catalogue& catalogue) {
  const CampaignPaths paths{directory};
  if (!fs::is_directory(directory))
    throw UsageError(directory.string(), "",
                     fs::exists(directory) ? "is not a campaign directory: it is a file"
                                           : "is not a campaign directory: it does not exist");
  if (!fs::exists(paths.campaign()))
    throw UsageError(directory.string(), "",
                     "is not a campaign directory: it has no campaign.json");
  const std::string text = read_file(paths.campaign());
  CampaignFile file = parse_campaign_file(text, paths.campaign().string());
  const Journal journal = read_journal(paths.journal(), chain_root(file, text));
  Campaign campaign;
  campaign.public_key = file.public_key;
  campaign.id = file.id;
  campaign.started = file.started;
  campaign.ended = journal.finished;
  campaign.tool = journal.sessions.empty() ? file.tool : journal.sessions.back().tool;
  campaign.launcher = launcher_name(file.launch.launcher);
  for (const HostSlots& h : file.hosts) campaign.hosts.push_back(h.name);
  campaign.command = file.command;
  campaign.warnings = journal.warnings;
  campaign.notes = journal.notes;
  const Roster roster = read_roster(file, journal, campaign.warnings);
  campaign.excluded = roster.excluded();
  note_returned(roster, journal, campaign);
  const std::vector<JobKey> keys = campaign_jobs(file, roster);
  std::vector<Reading> readings;
  campaign.jobs.resize(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    Job& job = campaign.jobs[i];
    job.step = file.profile.steps[keys[i].step].id;
    job.host = keys[i].host;
    job.group = keys[i].group;
    job.members = names_of(roster.at(keys[i].places));
    fill_from_journal(job, keys[i], journal, readings);
    fill_cycle(job, keys[i], journal);
    note_lost_attempts(keys[i], journal, campaign);
  }
  mark_made_up(keys, journal, campaign.jobs);
  mark_other_hosts(readings, journal, file.launch.launcher, campaign);
  read_records(readings, directory, file.profile.soak ? file.profile.soak->cycles() : 0);
  Expected expected(journal, file, roster, catalogue);
  expected.inventories = inventories_of(readings);
  find_misfits(readings, expected);
  const std::vector<RecordOrigin> origins = origins_of(readings, journal);
  take(readings, campaign);
  std::map<std::string, std::string> digests;
  for (const Reading& r : readings) digests.emplace(r.event.file, r.loaded.sha256);
  std::vector<Job> drills = load_drills(paths, file, journal, digests);
  if (journal.proving())
    campaign.proofs = load_proofs({paths, file, journal, catalogue}, keys, campaign.jobs);
  campaign.profile = std::move(file.profile);
  campaign.inventories = collect_inventories(campaign.jobs);
  check_manifest(paths, digests, journal, campaign);
  check_foreign(paths, digests, journal, campaign);
  check_records(origins, campaign);
  refuse_misfits(readings);
  std::ranges::move(drills, std::back_inserter(campaign.jobs));  // readings point into the jobs
  apply_delivery(campaign);
  return campaign;
}

}  // namespace cb
