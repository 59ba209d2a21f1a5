// The order of a campaign: rounds, repetitions, hosts that are taken out and let back.
#include "campaign/run.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "campaign/again.h"
#include "campaign/bad_hosts.h"
#include "campaign/leftovers.h"
#include "campaign/roll_call.h"
#include "campaign/run_jobs.h"
#include "campaign/run_state.h"
#include "campaign/settle.h"
#include "campaign/soak_cycles.h"
#include "campaign/way_back.h"
#include "core/clock.h"
#include "core/error.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

// A job across several hosts is repeated on a new set of hosts at most this often in one run.
constexpr int kMaxRepeats = 16;

class CampaignRun {
 public:
  CampaignRun(const RunSetup& setup, const RunObserver& observer)
      : s_(setup, observer),
        rounds_(plan_rounds(s_.profile)),
        bad_hosts_(setup, s_.roster, [this](const std::string& job) { return s_.attempts(job); }) {}

  RunEnd run() {
    prepare();
    RunEnd end;
    CyclePace pace(s_.profile.soak, s_.setup.executor.stop_signals, s_.observer.resting);
    pace.begun_before(last_cycle_begun());
    // A spare that steps in begins with the first round: what is done is kept.
    for (size_t at = 0; at < rounds_.size();) {
      pace.wait_for(rounds_[at].cycle);
      if (s_.stopped() || !one_round(at, pace, end)) {
        end.interrupted = true;
        break;
      }
    }
    keep_leftovers();
    if (!end.interrupted) {
      s_.writer.finished(utc_now(), evidence_digest(s_.setup.paths));
      write_manifest(s_.setup.paths);
    }
    return end;
  }

 private:
  // What follows a step; of several the last of these.
  enum class Next { go_on, repeat, from_start };

  // Runs a round and moves `at` to the next one. Returns false if interrupted.
  bool one_round(size_t& at, CyclePace& pace, RunEnd& end) {
    const StepRound& round = rounds_[at];
    const Step& step = s_.profile.steps[round.step];
    const double start = monotonic_seconds();
    std::vector<JobOutcome> outcomes = outcomes_of(round);
    const std::vector<size_t> todo = unsettled(outcomes);
    const bool told = at >= end.steps_ended || !todo.empty();
    if (told) {
      s_.observer.round_begins(round);
      s_.observer.step_begins(step);
    }
    const Next next = run_turns(step, outcomes, todo);
    pace.ran(round.cycle, outcomes);
    if (s_.stopped()) return false;
    if (told) s_.observer.step_ends(step, outcomes, monotonic_seconds() - start);
    if (next == Next::repeat) return true;
    end.steps_ended = std::max(end.steps_ended, at + 1);
    at = next == Next::from_start ? 0 : at + 1;
    return true;
  }

  // Runs the jobs turn by turn and looks at each turn, so that a host that is gone costs the turns
  // that follow nothing.
  Next run_turns(const Step& step, std::vector<JobOutcome>& outcomes,
                 const std::vector<size_t>& todo) {
    std::map<size_t, std::vector<size_t>> turns;
    for (const size_t i : todo) turns[outcomes[i].key.turn].push_back(i);
    for (const auto& [turn, jobs] : turns) {
      run_jobs(s_, outcomes, jobs);
      retry(outcomes, jobs);
      if (s_.stopped()) return Next::go_on;
      if (step.scope == Scope::host) break;
      const Next next = look_at_groups(step, outcomes, jobs);
      if (next != Next::go_on || s_.stopped()) return next;
    }
    learn(step, outcomes);
    if (step.id == first_look_) add_inventories(outcomes);
    if (step.scope != Scope::host) return Next::go_on;
    return take_out(bad_hosts_.of_single_hosts(step, outcomes, step.id == first_look_))
               ? Next::from_start
               : Next::go_on;
  }

  // The highest cycle of the soak of which an earlier run began a job; 0: none.
  size_t last_cycle_begun() const {
    size_t out = 0;
    for (const JobKey& key : jobs_) {
      if (key.cycle > out && s_.journal.last_start(key.name) != nullptr) out = key.cycle;
    }
    return out;
  }

  // Adopts documents that jobs have written after their run was killed: they are evidence like any
  // other.
  void keep_leftovers() {
    const RunSetup& setup = s_.setup;
    bring_back_leftovers(setup.paths);
    const Journal now = read_journal(setup.paths.journal(), s_.root);
    const std::vector<JobKey> jobs =
        campaign_jobs(setup.campaign, read_roster(setup.campaign, now));
    const auto unmet = [&](const std::string& job, const Document& document) {
      const auto key = std::ranges::find(jobs, job, &JobKey::name);
      if (key == jobs.end()) return 0;  // the document of no job proves nothing
      return unmet_criteria(s_.profile, s_.step_of(*key).id, setup.campaign.hosts.size(), document);
    };
    for (const JobEvent& found : adopt_leftovers(setup.paths, now, unmet)) {
      if (found.sha256.empty())
        s_.writer.job(found);
      else
        s_.writer.kept(found);
    }
    remove_leftovers(setup.paths);
  }

  // Writes the session first: a line that a kill tore is harmless only if a session follows it.
  void prepare() {
    const RunSetup& setup = s_.setup;
    s_.writer.session({utc_now(), setup.tool, setup.command, setup.prove});
    keep_leftovers();
    s_.journal = read_journal(setup.paths.journal(), s_.root);
    s_.roster = read_roster(setup.campaign, s_.journal);
    std::error_code ignored;
    fs::remove(setup.paths.manifest(), ignored);  // it would no longer be true
    for (const fs::path& directory :
         {setup.paths.records(), setup.paths.logs(), setup.paths.scratch()}) {
      std::error_code failed;
      fs::create_directories(directory, failed);
      if (failed)
        throw Error(fmt::format("cannot create {}: {}", directory.string(), failed.message()));
    }
    if (setup.lets_back) let_back();
    jobs_ = campaign_jobs(setup.campaign, s_.roster);
  }

  // Hosts that an earlier run took out, and that answer now, are measured after all. One that a
  // spare replaced is asked for by its name only, and waits as a spare.
  void let_back() {
    const std::set<std::string>& only = s_.setup.only;
    std::vector<RollCall> calls;
    std::set<std::string> called;
    for (const ExcludedHost& gone : s_.roster.excluded()) {
      const ExcludedHost* out = s_.roster.out(gone.host);
      if (out == nullptr || s_.roster.is_waiting(gone.host)) continue;
      const bool asked_for = only.contains(gone.host) || (only.empty() && out->by.empty());
      if (asked_for && called.insert(gone.host).second)
        calls.push_back({.host = *s_.roster.find(gone.host)});
    }
    const std::vector<std::string> silent = silent_hosts(s_.setup, calls);
    if (s_.stopped()) return;
    for (const RollCall& call : calls) {
      const std::string& host = call.host.name;
      if (std::ranges::find(silent, host) != silent.end()) {
        s_.observer.silent(host);
        continue;
      }
      s_.writer.roster(
          {.back = true, .out = {.host = host, .step = {}, .job = {}, .at = utc_now()}});
      s_.roster.let_back(host);
      s_.observer.returned(host, s_.roster.is_waiting(host));
    }
  }

  std::vector<JobOutcome> outcomes_of(const StepRound& round) const {
    std::vector<JobOutcome> out;
    for (const JobKey& key : jobs_) {
      if (StepRound{key.step, key.cycle} == round) out.push_back({.key = key});
    }
    return out;
  }

  // The indices of the jobs that have to run.
  std::vector<size_t> unsettled(std::vector<JobOutcome>& outcomes) {
    std::vector<size_t> out;
    for (size_t i = 0; i < outcomes.size(); ++i) {
      if (settle(s_, outcomes[i])) continue;
      outcomes[i].kept = false;
      out.push_back(i);
    }
    return out;
  }

  // Starts the jobs of single hosts again that the step's retries allow. Jobs across several hosts
  // are looked at first: a host that is gone would cost every retry.
  void retry(std::vector<JobOutcome>& outcomes, const std::vector<size_t>& todo) {
    if (outcomes.empty()) return;
    const Step& step = s_.step_of(outcomes.front().key);
    if (step.scope != Scope::host) return;
    std::vector<size_t> again = todo;
    for (int i = 0; i < step.retries && !s_.stopped(); ++i) {
      std::erase_if(again, [&](size_t j) { return !is_worth_a_retry(step, outcomes[j]); });
      if (again.empty()) return;
      run_jobs(s_, outcomes, again);
    }
  }

  static bool is_worth_a_retry(const Step& step, const JobOutcome& o) {
    return (o.state == JobState::failed && step.retry_failed) ||
           (o.state == JobState::deadline && step.retry_deadline);
  }

  // Learns from the first step of a case that knows the hosts what the hosts have.
  void learn(const Step& step, const std::vector<JobOutcome>& outcomes) {
    const CaseInfo* info = find_case(s_.setup.catalogue, step.case_name);
    if (info == nullptr || !info->learns_hosts || learnt_) return;
    learnt_ = true;
    first_look_ = step.id;
    add_inventories(outcomes);
  }

  // Hosts that step in later bring theirs when they run that step.
  void add_inventories(const std::vector<JobOutcome>& outcomes) {
    for (const JobOutcome& o : outcomes) {
      if (!o.document) continue;
      for (const HostInventory& inventory : o.document->hosts)
        s_.inventories.emplace(o.key.host.empty() ? inventory.host : o.key.host, inventory);
    }
    bad_hosts_.learn_names(outcomes);
  }

  Next look_at_groups(const Step& step, const std::vector<JobOutcome>& outcomes,
                      const std::vector<size_t>& jobs) {
    Next next = Next::go_on;
    for (const size_t i : jobs) {
      next = std::max(next, look_at_group(step, outcomes[i]));
      if (s_.stopped()) return Next::go_on;
    }
    return next;
  }

  // A job across several hosts that did not get done: a host that does not answer is out; if all
  // answer it is tried again as often as its retries allow, and then without those that the
  // watchdogs named.
  Next look_at_group(const Step& step, const JobOutcome& o) {
    const bool ended_badly = o.state == JobState::failed || o.state == JobState::deadline;
    if (!ended_badly || o.kept || !s_.tested.contains(o.key.name)) return Next::go_on;
    if (repeats_[o.key.name]++ >= kMaxRepeats) return Next::go_on;
    const std::vector<HostSlots> hosts = s_.hosts_of(o.key);  // without those that just went
    if (s_.roster.active().size() == 1) return retry_group(step, o);
    std::vector<ExcludedHost> bad = bad_hosts_.silent_after(step, o, hosts);
    if (s_.stopped()) return Next::go_on;
    if (bad.empty() && retry_group(step, o) == Next::repeat) return Next::repeat;
    if (bad.empty()) bad = bad_hosts_.suspected(step, o, hosts);
    if (bad.empty() || s_.setup.campaign.exclude == Exclude::never) return Next::go_on;
    return take_out(bad) ? Next::from_start : Next::repeat;
  }

  Next retry_group(const Step& step, const JobOutcome& o) {
    if (!is_worth_a_retry(step, o) || retries_[o.key.name] >= step.retries) return Next::go_on;
    ++retries_[o.key.name];
    return Next::repeat;
  }

  // Returns true if a spare steps in.
  bool take_out(const std::vector<ExcludedHost>& bad) {
    bool stepped_in = false;
    for (ExcludedHost out : bad) {
      out.by = s_.roster.spare_for(out.host).value_or("");
      // A line that no reader takes would leave the evidence in doubt for ever.
      if (cannot_go(s_.roster, s_.journal, out)) continue;
      stepped_in |= !out.by.empty();
      s_.writer.roster({.back = false, .out = out});
      s_.roster.take_out(out);
      s_.observer.excluded(out);
    }
    if (stepped_in) jobs_ = campaign_jobs(s_.setup.campaign, s_.roster);
    return stepped_in;
  }

  RunState s_;
  const std::vector<StepRound> rounds_;
  std::vector<JobKey> jobs_ = {};
  BadHosts bad_hosts_;
  bool learnt_ = false;
  std::string first_look_;                        // the step that told what the hosts have
  std::map<std::string, int> repeats_, retries_;  // of jobs across several hosts
};

}  // namespace

RunEnd run_campaign(const RunSetup& setup, const RunObserver& observer) {
  return CampaignRun(setup, observer).run();
}

}  // namespace cb
