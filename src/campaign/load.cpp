#include "campaign/load.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include <fmt/format.h>

#include "campaign/attempts.h"
#include "campaign/bind.h"
#include "campaign/check_records.h"
#include "campaign/directory.h"
#include "campaign/drills.h"
#include "campaign/evidence_files.h"
#include "campaign/journal.h"
#include "campaign/load_proofs.h"
#include "campaign/lost.h"
#include "campaign/other_hosts.h"
#include "campaign/plan.h"
#include "campaign/record_readings.h"
#include "campaign/roster.h"
#include "campaign/soak_cycles.h"
#include "core/error.h"
#include "core/file.h"
#include "core/profile_drills.h"
#include "core/text.h"
#include "judge/delivery.h"
#include "judge/verdict_gaps.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

void list_attempts(Job& job, const JobKey& key, const Journal& journal,
                   std::vector<RecordReading>& readings) {
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
void mark_other_hosts(std::vector<RecordReading>& readings, const Journal& journal,
                      Launcher launcher, Campaign& campaign) {
  std::map<std::string, std::set<int>> attempts;
  std::map<std::string, int> unmet;
  for (RecordReading& r : readings) {
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

// A fault that was made and not seen, and that no criterion asks for.
void note_failed_drills(const std::vector<Job>& drills, Campaign& campaign) {
  for (const Job& job : drills) {
    const auto asks = [&](const Criterion& c) { return c.step == job.step; };
    if (!job.document || std::ranges::any_of(campaign.profile.criteria, asks)) continue;
    for (const Record& record : job.document->records) {
      for (const Check& check : record.checks) {
        if (!check.passed)
          campaign.notes.push_back(said("load.drill_failed", terminal_safe(job.step),
                                        terminal_safe(job.host), check.name, check.detail));
      }
    }
  }
}

// What a drill has shown of a host says nothing of the one that came in its place.
void note_drills_of_others(const std::vector<Job>& drills, const Roster& roster,
                           Campaign& campaign) {
  std::set<std::string> noted;
  for (const Job& job : drills) {
    if (!roster.takes_part(job.host) && noted.insert(job.step + job.host).second)
      campaign.notes.push_back(
          said("load.drill_of_other", terminal_safe(job.step), terminal_safe(job.host)));
  }
}

std::vector<Step> steps_of(const std::vector<Job>& drills) {
  std::vector<Step> out;
  for (const Job& job : drills) {
    if (std::ranges::find(out, job.step, &Step::id) == out.end())
      out.push_back({.id = job.step, .case_name = kDrillCase});
  }
  return out;
}

// Attempts that left nothing behind: nobody knows what they measured.
void note_lost_attempts(const std::string& job, const Journal& journal, Campaign& campaign) {
  const auto events = journal.jobs.find(job);
  const std::vector<JobEvent> documents = journal.documents(job);
  if (events == journal.jobs.end() || documents.empty()) return;
  for (const JobEvent& e : events->second) {
    if (e.ended || std::ranges::find(documents, e.attempt, &JobEvent::attempt) != documents.end())
      continue;
    const auto end = std::ranges::find_if(events->second, [&](const JobEvent& other) {
      return other.ended && other.attempt == e.attempt && !other.reason.empty();
    });
    campaign.notes.push_back(
        end == events->second.end()
            ? said("load.no_record", e.attempt, terminal_safe(job))
            : said("load.no_record_but", e.attempt, terminal_safe(job), end->reason));
  }
}

void fill_from_journal(Job& job, const JobKey& key, const Journal& journal,
                       std::vector<RecordReading>& readings) {
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

void count_as_failed(Job& job, const RecordReading& r) {
  job.state = JobState::failed;
  job.unusable = true;
  job.reason = r.loaded.problem;
  job.curable = !r.loaded.lost || is_replaceable(r.event);
}

// What the journal knows of a record that says nothing any more.
bool warn_of_bad(const RecordReading& r, Campaign& campaign) {
  const JobEvent& e = r.event;
  if (!e.bad.any()) return false;
  campaign.warnings.push_back(
      said("load.bad", terminal_safe(e.file), e.bad.failed_checks, e.bad.errored, e.bad.skipped));
  return true;
}

// A file that is gone or changed. A later attempt stands for it only where the journal knows of
// nothing in it that speaks against the machine.
void miss(const RecordReading& r, Campaign& campaign) {
  const bool stands = !r.last && is_replaceable(r.event);
  const bool fails = !r.loaded.lost ? r.job->state == JobState::done : !stands;
  if (r.counts && fails) count_as_failed(*r.job, r);
  if (warn_of_bad(r, campaign)) return;
  if (r.other_hosts && r.event.unmet > 0)
    campaign.warnings.push_back(
        said("load.bad_figures", terminal_safe(r.event.file), r.event.unmet));
  else if (!r.counts || !fails)
    campaign.notes.push_back(said("load.earlier_unusable", terminal_safe(r.event.file)));
}

// A job with a record that belongs to something else is not measured.
void refuse_misfit(Job& job, const std::string& file, const Said& why) {
  job.state = JobState::failed;
  job.unusable = true;
  job.reason = said("bind.not_of_job", terminal_safe(file), why);
  job.curable = false;
  job.document.reset();
}

void refuse_misfits(const std::vector<RecordReading>& readings, Campaign& campaign) {
  for (const RecordReading& r : readings) {
    if (!r.misfit) continue;
    refuse_misfit(*r.job, r.event.file, *r.misfit);
    warn_of_bad(r, campaign);
  }
}

// What the records say of when and where they were taken. Each attempt has times of its own.
std::vector<RecordOrigin> origins_of(const std::vector<RecordReading>& readings,
                                     const Journal& journal) {
  std::vector<RecordOrigin> out;
  for (const RecordReading& r : readings) {
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
      if (entity.kind == "pairs") entity.id = job_place(job) + " " + entity.id;
    }
  }
}

// Gives every job what its attempts say together.
void take(std::vector<RecordReading>& readings, Campaign& campaign) {
  std::map<Job*, std::vector<AttemptDocument>> attempts;
  std::set<Job*> counted;
  for (RecordReading& r : readings) {
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

}  // namespace

Campaign load_campaign(const fs::path& directory, const Catalogue& catalogue, Keep keep) {
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
  std::vector<RecordReading> readings;
  campaign.jobs.resize(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    Job& job = campaign.jobs[i];
    job.step = file.profile.steps[keys[i].step].id;
    job.host = keys[i].host;
    job.group = keys[i].group;
    job.members = names_of(roster.at(keys[i].places));
    fill_from_journal(job, keys[i], journal, readings);
    fill_cycle(job, keys[i], journal);
    note_lost_attempts(keys[i].name, journal, campaign);
  }
  mark_made_up(keys, journal, campaign.jobs);
  mark_other_hosts(readings, journal, file.launch.launcher, campaign);
  const size_t cycles = file.profile.soak ? file.profile.soak->cycles() : 0;
  read_records(readings, directory, {cycles, keep == Keep::samples});
  find_misfits(readings, journal, file, roster, catalogue);
  const std::vector<RecordOrigin> origins = origins_of(readings, journal);
  take(readings, campaign);
  std::map<std::string, std::string> digests;
  for (const RecordReading& r : readings) digests.emplace(r.event.file, r.loaded.sha256);
  std::vector<Job> drills = load_drills(paths, file, journal, digests);
  for (const std::string& job : drill_jobs(journal)) note_lost_attempts(job, journal, campaign);
  if (journal.proving())
    campaign.proofs = load_proofs({paths, file, journal, catalogue}, keys, campaign.jobs);
  campaign.profile = std::move(file.profile);
  campaign.inventories = collect_inventories(campaign.jobs);
  check_manifest(paths, digests, journal, campaign);
  check_foreign(paths, digests, journal, campaign);
  check_records(origins, campaign);
  refuse_misfits(readings, campaign);
  note_failed_drills(drills, campaign);
  note_drills_of_others(drills, roster, campaign);
  campaign.drills = steps_of(drills);
  std::ranges::move(drills, std::back_inserter(campaign.jobs));  // readings point into the jobs
  apply_delivery(campaign);
  return campaign;
}

}  // namespace cb
