#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "campaign/directory.h"
#include "campaign/executor.h"
#include "campaign/journal.h"
#include "campaign/plan.h"
#include "campaign/roster.h"
#include "judge/campaign_data.h"

namespace cb {

// How one job ended in this run, or that an earlier run did it.
struct JobOutcome {
  JobKey key;
  JobState state = JobState::missing;
  Said reason;
  bool kept = false;  // an earlier run did it, and it was not repeated
  std::optional<Document> document;
};

// Called with what happens, for the terminal.
struct RunObserver {
  std::function<void(const Step&)> step_begins;
  std::function<void(const Step&, const std::vector<JobOutcome>&, double seconds)> step_ends;
  std::function<void()> stopping;
  std::function<void(const StepRound&)> round_begins = [](const StepRound&) {};
  std::function<void(const JobEvent&)> job_changes = [](const JobEvent&) {};  // started or ended
  std::function<void(double seconds)> resting = [](double) {};  // until the soak's next cycle
  // A host was taken out; `out.by` is the spare that steps in, if one does.
  std::function<void(const ExcludedHost& out)> excluded = [](const ExcludedHost&) {};
  // A host that had been taken out takes part again, or waits as a spare.
  std::function<void(const std::string& host, bool as_spare)> returned = [](const std::string&,
                                                                            bool) {};
  // A host that had been taken out was called, and does not answer.
  std::function<void(const std::string& host)> silent = [](const std::string&) {};
};

struct RunSetup {
  CampaignPaths paths;
  CampaignFile campaign;             // as read from the directory, or as just written to it
  ToolInfo tool;                     // this program
  std::vector<std::string> command;  // this run's command line
  std::string binary;                // path of this program
  Catalogue catalogue;
  ExecutorOptions executor;
  std::filesystem::path key = {};  // signs the journal; empty: nothing is signed
  // Jobs that are measured once more although they are done: pairs of step and JobKey::label()
  // (empty: across all hosts). Their samples are pooled with the earlier ones.
  std::set<std::pair<std::string, std::string>> again = {};
  // Only these hosts are measured, all jobs on them alone, in pairs and in groups once more; with
  // them the steps across all hosts if the set of hosts has changed. Hosts that were taken out and
  // are named here come back; those that were replaced become spares. Empty: all hosts.
  std::set<std::string> only = {};
  // Hosts that an earlier run took out come back if they answer, unless a spare has their place.
  bool lets_back = true;
  double roll_call_seconds = 30;  // a host that takes longer to answer is lost
  // After the run, each check must find a planted fault: prove_campaign().
  bool prove = false;
};

// The measurement ends itself at the step's deadline and names what hangs. After this many more
// seconds it is ended from outside.
inline constexpr double kLateSeconds = 10;

struct RunEnd {
  bool interrupted = false;
  size_t steps_ended = 0;
};

// Runs, in the profile's order, every job that is not done with the same fingerprint. A step whose
// needs the inventories do not meet is not applicable. A host that failed the first `info` step, or
// that is to be taken out by `campaign.exclude`, is left out of later steps, so that it costs only
// itself; a spare takes its place and makes up for the steps so far, and what depends on the set of
// hosts is repeated. The caller must hold the lock.
RunEnd run_campaign(const RunSetup& setup, const RunObserver& observer);

// Who takes and took part in the campaign until now.
Roster roster_so_far(const RunSetup& setup);

// The command of a job that runs this step. `token`: campaign/way_back.h.
Command step_command(const RunSetup& setup, const Step& step, const std::vector<HostSlots>& hosts,
                     const std::filesystem::path& record, const std::string& token = {});

// The fingerprint of that command. It leaves out the paths of this directory, so that a campaign
// can be moved and continued. `record` is relative to the directory.
std::string step_fingerprint(const RunSetup& setup, const Step& step,
                             const std::vector<HostSlots>& hosts, const std::string& record);

// The command of one job as run_campaign() would start it, for --dry-run.
Command job_command(const RunSetup& setup, const JobKey& key, const std::vector<HostSlots>& hosts,
                    const std::filesystem::path& record);

}  // namespace cb
