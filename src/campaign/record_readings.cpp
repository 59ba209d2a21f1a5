#include "campaign/record_readings.h"

#include <algorithm>
#include <map>
#include <set>

#include "campaign/bind.h"
#include "campaign/command_line.h"
#include "campaign/lost.h"
#include "campaign/quiet_cycles.h"
#include "campaign/rails.h"
#include "core/file.h"
#include "core/parallel.h"
#include "core/sha256.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

LoadedRecord lost_file(const JobEvent& event, const Said& what, std::string sha256) {
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

bool is_middle(const JobKey& key, size_t cycles) { return key.cycle > 1 && key.cycle < cycles; }

// Reads the files on all processors: nothing in one depends on another.
void read_all(std::vector<RecordReading>& readings, const fs::path& root, const SoakReading& soak) {
  std::map<const Job*, int> attempts;
  for (const RecordReading& r : readings) ++attempts[r.job];
  TextPool texts;
  on_all_processors(readings.size(), [&](size_t i) {
    RecordReading& r = readings[i];
    r.loaded = load_record(root, r.event, r.inventory);
    if (!r.loaded.document || !is_middle(*r.key, soak.cycles)) return;
    drop_time_lines(*r.loaded.document);
    // Two attempts may be put together, which needs their samples.
    if (!soak.all_samples && attempts.at(r.job) == 1) keep_summaries(*r.loaded.document);
    texts.share(*r.loaded.document);
  });
}

// The environment of a cycle is that of the step's first one on this host, or it is kept.
void drop_equal_environments(std::vector<RecordReading>& readings, size_t cycles) {
  std::map<std::pair<size_t, std::string>, const RunInfo*> first;
  for (const RecordReading& r : readings) {
    if (r.loaded.document && !is_middle(*r.key, cycles))
      first.try_emplace({r.key->step, r.job->label()}, &r.loaded.document->run);
  }
  for (RecordReading& r : readings) {
    if (!r.loaded.document || !is_middle(*r.key, cycles)) continue;
    r.loaded.document->tool.build.clear();  // nobody asks a job for it
    const auto known = first.find({r.key->step, r.job->label()});
    if (known != first.end() && known->second->environment == r.loaded.document->run.environment)
      r.loaded.document->run.environment.clear();
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
std::map<std::string, HostInventory> inventories_of(const std::vector<RecordReading>& readings) {
  std::map<std::string, HostInventory> out;
  for (const RecordReading& r : readings) {
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

std::optional<Said> misfit_of(const RecordReading& r, const Expected& expected) {
  const auto& [journal, file, roster, slots, cases, inventories] = expected;
  const JobEvent* start = journal.start_of(r.key->name, r.event.attempt);
  const bool known = start != nullptr && start->session < journal.sessions.size();
  const ToolInfo& tool = known ? journal.sessions[start->session].tool : file.tool;
  const Step step = step_of_job(*r.key, start, expected);
  return misfit({file, slots, *r.key, step, cases[r.key->step], CampaignPaths::record(r.key->name),
                 start, tool, roster.occupants(r.key->places)},
                *r.loaded.document);
}

}  // namespace

Said first_problem(const UsageError& e) {
  const Problem& first = e.problems().list.front();
  return first.where.empty() ? first.said() : said("said.of", first.where, first.said());
}

LoadedRecord load_record(const fs::path& root, const JobEvent& event, bool inventory) {
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

void read_records(std::vector<RecordReading>& readings, const fs::path& root,
                  const SoakReading& soak) {
  std::set<std::string> asked;
  // Of the last attempt: a host may have been repaired between two.
  for (RecordReading& r : readings)
    r.inventory = r.job->host.empty() || (r.last && asked.insert(r.job->host).second);
  read_all(readings, root, soak);
  std::set<std::string> known;
  for (const RecordReading& r : readings) {
    if (r.inventory && r.loaded.document) known.insert(r.job->host);
  }
  for (RecordReading& r : readings) {
    if (!r.inventory && r.loaded.document && known.insert(r.job->host).second)
      r.loaded = load_record(root, r.event, true);
  }
  drop_equal_environments(readings, soak.cycles);
}

void find_misfits(std::vector<RecordReading>& readings, const Journal& journal,
                  const CampaignFile& file, const Roster& roster, const Catalogue& catalogue) {
  Expected expected(journal, file, roster, catalogue);
  expected.inventories = inventories_of(readings);
  on_all_processors(readings.size(), [&](size_t i) {
    RecordReading& r = readings[i];
    if (!r.loaded.document) return;
    r.misfit = misfit_of(r, expected);
    // Nothing asks for it once it is compared, and the journal has the command.
    std::vector<std::string>().swap(r.loaded.document->run.argv);
  });
}

}  // namespace cb
