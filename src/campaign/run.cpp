#include "campaign/run.h"

#include <algorithm>
#include <csignal>
#include <set>

#include <fmt/format.h>

#include "campaign/again.h"
#include "campaign/attempts.h"
#include "campaign/bad_hosts.h"
#include "campaign/blame.h"
#include "campaign/command_line.h"
#include "campaign/job_reason.h"
#include "campaign/journal.h"
#include "campaign/leftovers.h"
#include "campaign/lost.h"
#include "campaign/pool.h"
#include "campaign/roll_call.h"
#include "campaign/roster.h"
#include "campaign/soak_cycles.h"
#include "campaign/way_back.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/file.h"
#include "core/profile_limits.h"
#include "core/sha256.h"
#include "judge/applies.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

// A step across all hosts is repeated on a new set of hosts at most this often in one run.
constexpr int kMaxRepeats = 16;

class CampaignRun {
 public:
  CampaignRun(const RunSetup& setup, const RunObserver& observer)
      : setup_(setup),
        observer_(observer),
        profile_(setup.campaign.profile),
        roster_(setup.campaign.hosts, setup.campaign.spares),
        rounds_(plan_rounds(profile_)),
        root_(chain_root(setup.campaign, read_file(setup.paths.campaign()))),
        journal_(read_journal(setup.paths.journal(), root_)),
        writer_(setup.paths.journal(), root_.campaign_sha256, setup.key),
        bad_hosts_(setup, roster_, [this](const std::string& job) { return attempts(job); }) {}

  RunEnd run() {
    prepare();
    RunEnd end;
    CyclePace pace(profile_.soak, setup_.executor.stop_signals, observer_.resting);
    // A spare that steps in begins with the first round: what is done is kept.
    for (size_t at = 0; at < rounds_.size();) {
      pace.wait_for(rounds_[at].cycle);
      if (stopped() || !one_round(at, pace, end)) {
        end.interrupted = true;
        break;
      }
    }
    keep_leftovers();
    if (!end.interrupted) {
      writer_.finished(utc_now(), evidence_digest(setup_.paths));
      write_manifest(setup_.paths);
    }
    return end;
  }

 private:
  bool stopped() const { return setup_.executor.stop_signals() > 0; }

  // What follows a step.
  enum class Next { go_on, repeat, from_start };

  // Runs a round and moves `at` to the next one. Returns false if interrupted.
  bool one_round(size_t& at, CyclePace& pace, RunEnd& end) {
    const Round& round = rounds_[at];
    const Step& step = profile_.steps[round.step];
    const double start = monotonic_seconds();
    std::vector<JobOutcome> outcomes = outcomes_of(round);
    const std::vector<size_t> todo = unsettled(outcomes);
    const bool told = at >= end.steps_ended || !todo.empty();
    if (told) {
      observer_.round_begins(round);
      observer_.step_begins(step);
    }
    execute(outcomes, todo);
    retry(outcomes, todo);
    pace.ran(round.cycle, outcomes);
    if (stopped()) return false;
    learn(step, outcomes);
    const Next next = look_for_bad_hosts(round, outcomes);
    if (stopped()) return false;
    if (told) observer_.step_ends(step, outcomes, monotonic_seconds() - start);
    if (next == Next::repeat) return true;
    end.steps_ended = std::max(end.steps_ended, at + 1);
    at = next == Next::from_start ? 0 : at + 1;
    return true;
  }

  // Adopts documents that jobs have written after their run was killed: they are evidence like any
  // other.
  void keep_leftovers() {
    bring_back_leftovers(setup_.paths);
    const Journal now = read_journal(setup_.paths.journal(), root_);
    const std::vector<JobKey> jobs = all_jobs(read_roster(setup_.campaign, now));
    const auto unmet = [&](const std::string& job, const Document& document) {
      const auto key = std::ranges::find(jobs, job, &JobKey::name);
      if (key == jobs.end()) return 0;  // the document of no job proves nothing
      return unmet_criteria(profile_, profile_.steps[key->step].id, setup_.campaign.hosts.size(),
                            document);
    };
    for (const JobEvent& found : adopt_leftovers(setup_.paths, now, unmet)) {
      if (found.sha256.empty())
        writer_.job(found);
      else
        writer_.kept(found);
    }
    remove_leftovers(setup_.paths);
  }

  // Writes the session first: a line that a kill tore is harmless only if a session follows it.
  void prepare() {
    writer_.session({utc_now(), setup_.tool, setup_.command, setup_.prove});
    keep_leftovers();
    journal_ = read_journal(setup_.paths.journal(), root_);
    roster_ = read_roster(setup_.campaign, journal_);
    std::error_code ignored;
    fs::remove(setup_.paths.manifest(), ignored);  // it would no longer be true
    for (const fs::path& directory :
         {setup_.paths.records(), setup_.paths.logs(), setup_.paths.scratch()}) {
      std::error_code failed;
      fs::create_directories(directory, failed);
      if (failed)
        throw Error(fmt::format("cannot create {}: {}", directory.string(), failed.message()));
    }
    if (setup_.lets_back) let_back();
    jobs_ = all_jobs(roster_);
  }

  std::vector<JobKey> all_jobs(const Roster& roster) const {
    return plan_jobs(profile_, names_of(roster.all()), !setup_.campaign.spares.empty());
  }

  // Hosts that an earlier run took out, and that answer now, are measured after all.
  void let_back() {
    std::vector<RollCall> calls;
    for (const ExcludedHost& gone : roster_.excluded()) {
      const bool asked_for = setup_.only.empty() || setup_.only.contains(gone.host);
      if (gone.by.empty() && asked_for) calls.push_back({.host = *roster_.find(gone.host)});
    }
    const std::vector<std::string> silent = silent_hosts(setup_, calls);
    if (stopped()) return;
    for (const RollCall& call : calls) {
      const std::string& host = call.host.name;
      if (std::ranges::find(silent, host) != silent.end()) continue;
      writer_.roster({.back = true, .out = {.host = host, .step = {}, .job = {}, .at = utc_now()}});
      roster_.let_back(host);
      observer_.returned(host);
    }
  }

  std::vector<JobOutcome> outcomes_of(const Round& round) const {
    std::vector<JobOutcome> out;
    for (const JobKey& key : jobs_) {
      if (Round{key.step, key.cycle} == round) out.push_back({.key = key});
    }
    return out;
  }

  // The indices of the jobs that have to run.
  std::vector<size_t> unsettled(std::vector<JobOutcome>& outcomes) {
    std::vector<size_t> out;
    for (size_t i = 0; i < outcomes.size(); ++i) {
      if (settle(outcomes[i])) continue;
      outcomes[i].kept = false;
      out.push_back(i);
    }
    return out;
  }

  // Starts the jobs of single hosts again that the step's retries allow. Steps across all hosts are
  // looked at first: a host that is gone would cost every retry.
  void retry(std::vector<JobOutcome>& outcomes, const std::vector<size_t>& todo) {
    if (outcomes.empty()) return;
    const Step& step = profile_.steps[outcomes.front().key.step];
    if (step.scope != Scope::host) return;
    std::vector<size_t> again = todo;
    for (int i = 0; i < step.retries && !stopped(); ++i) {
      std::erase_if(again, [&](size_t j) { return !is_worth_a_retry(step, outcomes[j]); });
      if (again.empty()) return;
      execute(outcomes, again);
    }
  }

  static bool is_worth_a_retry(const Step& step, const JobOutcome& o) {
    return (o.state == JobState::failed && step.retry_failed) ||
           (o.state == JobState::deadline && step.retry_deadline);
  }

  std::vector<HostSlots> hosts_of(const JobKey& key) const {
    if (key.host.empty()) return roster_.active();
    const HostSlots* host = roster_.find(key.host);
    return host == nullptr ? std::vector<HostSlots>() : std::vector<HostSlots>{*host};
  }

  // The hosts of a job across all, as it ran: of a done job that had hosts more, which are out now
  // and have no successor, nothing needs to be repeated.
  std::vector<HostSlots> standing_hosts(const JobKey& key) const {
    std::vector<HostSlots> active = hosts_of(key);
    const JobEvent* start = key.host.empty() ? journal_.last_start(key.name) : nullptr;
    if (start == nullptr || roster_.excluded().empty()) return active;
    std::vector<HostSlots> ran;
    size_t known = 0;
    for (const std::string& name :
         launched_hosts(start->command, setup_.campaign.launch.launcher)) {
      const HostSlots* host = roster_.find(name);
      if (host == nullptr || roster_.is_replaced(name)) return active;
      known += roster_.takes_part(name) ? 1 : 0;
      ran.push_back(*host);
    }
    return known == active.size() ? ran : active;
  }

  // True if the job needs no running: it is done, not applicable, or its host is left out.
  bool settle(JobOutcome& outcome) {
    const JobKey& key = outcome.key;
    const Step& step = profile_.steps[key.step];
    const std::vector<HostSlots> hosts = hosts_of(key);
    if (const ExcludedHost* gone = roster_.out(key.host)) {
      leave_out(outcome, gone->reason);
      return true;
    }
    if (hosts.empty()) {
      conclude(outcome, JobState::missing, said("end.all_left_out"));
      return true;
    }
    if (!setup_.only.empty() && !key.host.empty() && !setup_.only.contains(key.host))
      return stand(outcome);
    const NeedsFit fit = needs_fit(step, key);
    if (fit.fit == Fit::unmet) {
      conclude(outcome, JobState::not_applicable, fit.reason());
      return true;
    }
    if (const auto why = cannot_launch(setup_.campaign.launch, hosts, step.ranks_per_host)) {
      conclude(outcome, JobState::missing, *why);
      return true;
    }
    const std::string wanted =
        step_fingerprint(setup_, step, standing_hosts(key), CampaignPaths::record(key.name));
    if (key.cycle > 0 && is_over(journal_.last(key.name), wanted)) return stand(outcome);
    if (lost(outcome, wanted)) return true;
    return keep(outcome, wanted) && !once_more(key);
  }

  // The job of a host that is out stays as it ended. It says why it has not run, if it has not.
  void leave_out(JobOutcome& outcome, const Said& why) {
    const JobEvent* last = journal_.last(outcome.key.name);
    if (last == nullptr || !last->ended) return conclude(outcome, JobState::missing, why);
    outcome.state = last->state;
    outcome.reason = last->reason;
    outcome.kept = true;
  }

  // The job is not to be run now, whatever it is. Returns true.
  bool stand(JobOutcome& outcome) {
    const JobEvent* last = journal_.last(outcome.key.name);
    outcome.kept = true;
    if (last == nullptr || !last->ended) return true;
    outcome.state = last->state;
    outcome.reason = last->reason;
    if (outcome.state == JobState::done)
      outcome.document = figures_of(outcome.key.name, last->fingerprint);
    return true;
  }

  // The figures of this job's earlier attempts count. If one is lost that spoke against the
  // machine, no new measurement replaces it.
  bool lost(JobOutcome& outcome, const std::string& wanted) {
    if (!journal_.goes_on(outcome.key.name, wanted)) return false;
    const auto why = lost_for_good(journal_.documents(outcome.key.name, wanted), setup_.paths.root);
    if (!why) return false;
    outcome.state = JobState::failed;
    outcome.reason = *why;
    return true;
  }

  bool once_more(const JobKey& key) const {
    if (key.cycle > 0 || tested_.contains(key.name)) return false;  // a soak has other cycles
    return setup_.only.contains(key.host) ||
           setup_.again.contains({profile_.steps[key.step].id, key.host});
  }

  NeedsFit needs_fit(const Step& step, const JobKey& key) const {
    if (key.host.empty())
      return check_needs(step.needs, setup_.campaign.hosts.size(), inventories());
    Requirements parts, hosts;
    for (const auto& need : step.needs) (counts_hosts(need.first) ? hosts : parts).insert(need);
    const NeedsFit all = check_needs(hosts, setup_.campaign.hosts.size(), {});
    if (all.fit != Fit::met) return all;
    const auto mine = inventories_.find(key.host);
    return check_needs(parts, 1,
                       mine == inventories_.end() ? std::vector<HostInventory>()
                                                  : std::vector<HostInventory>{mine->second});
  }

  std::vector<HostInventory> inventories() const {
    std::vector<HostInventory> out;
    for (const auto& [host, inventory] : inventories_) out.push_back(inventory);
    return out;
  }

  std::string key_fingerprint(const JobKey& key) const {
    return step_fingerprint(setup_, profile_.steps[key.step], hosts_of(key),
                            CampaignPaths::record(key.name));
  }

  // True if an earlier run left a complete record of exactly this job.
  bool keep(JobOutcome& outcome, const std::string& wanted) {
    const JobEvent* last = journal_.last(outcome.key.name);
    if (last == nullptr || !last->ended || last->state != JobState::done) return false;
    if (last->code != static_cast<int>(ExitCode::ok) &&
        last->code != static_cast<int>(ExitCode::not_accepted))
      return false;
    if (last->fingerprint != wanted || last->sha256.empty()) return false;
    outcome.document = figures_of(outcome.key.name, wanted);
    if (!outcome.document) return false;
    outcome.state = JobState::done;
    outcome.kept = true;
    return true;
  }

  std::optional<Document> figures_of(const std::string& job, const std::string& wanted) const {
    return standing_figures(journal_.documents(job, wanted), setup_.paths.root);
  }

  // Journals an end without a process. If a resumed run finds the same end again, it writes
  // nothing.
  void conclude(JobOutcome& outcome, JobState state, const Said& reason) {
    outcome.state = state;
    outcome.reason = reason;
    const JobEvent* last = journal_.last(outcome.key.name);
    if (last != nullptr && last->ended && last->state == state && last->reason == reason) return;
    JobEvent event{.job = outcome.key.name, .ended = true, .at = utc_now()};
    event.attempt = attempts(outcome.key.name);
    event.state = state;
    event.reason = reason;
    note(event);
  }

  // Writes the event to the journal, and to what this run knows of it.
  void note(JobEvent event) {
    writer_.job(event);
    observer_.job_changes(event);
    event.session = journal_.sessions.empty() ? 0 : journal_.sessions.size() - 1;
    journal_.jobs[event.job].push_back(std::move(event));
  }

  int attempts(const std::string& job) const {
    const JobEvent* start = journal_.last_start(job);
    return start == nullptr ? 0 : start->attempt;
  }

  struct Attempt {
    JobOutcome* outcome = nullptr;
    JobEvent event;
    fs::path partial;  // where the job writes; renamed once it has ended
    WayBack back = {};
    uintmax_t log_begin = 0;
  };

  void execute(std::vector<JobOutcome>& outcomes, const std::vector<size_t>& todo) {
    std::vector<Attempt> attempts;
    std::vector<Task> tasks;
    for (const size_t i : todo) {
      attempts.push_back(prepare_attempt(outcomes[i]));
      Attempt& a = attempts.back();
      Task task;
      task.command =
          job_command(setup_, outcomes[i].key, hosts_of(outcomes[i].key), a.partial, a.back.token);
      task.out = a.back.out();
      task.err = setup_.paths.root / CampaignPaths::log(a.event.job, "err");
      const Step& step = profile_.steps[outcomes[i].key.step];
      task.deadline_seconds = step.deadline_seconds + kLateSeconds;
      task.start_deadline_seconds = step.start_deadline_seconds;
      tested_.insert(outcomes[i].key.name);
      a.event.command = task.command.argv;
      tasks.push_back(std::move(task));
    }
    const ExecutorEvents events{[&](size_t i) {
                                  attempts[i].event.at = utc_now();
                                  note(attempts[i].event);
                                },
                                [&](size_t i, const TaskEnd& end) { finish(attempts[i], end); },
                                [&] { observer_.stopping(); }};
    run_tasks(tasks, setup_.executor, events);
  }

  const Step& step_of(const Attempt& a) const { return profile_.steps[a.outcome->key.step]; }

  Attempt prepare_attempt(JobOutcome& outcome) const {
    Attempt a{.outcome = &outcome};
    a.event.job = outcome.key.name;
    a.event.attempt = attempts(outcome.key.name) + 1;
    a.event.fingerprint = key_fingerprint(outcome.key);
    a.event.adds = journal_.goes_on(a.event.job, a.event.fingerprint);
    if (a.event.adds && !outcome.document)
      outcome.document = figures_of(a.event.job, a.event.fingerprint);
    a.partial = setup_.paths.root /
                (CampaignPaths::record(a.event.job) + fmt::format(".{}.partial", a.event.attempt));
    a.back = way_back(setup_.campaign.launch, a.partial,
                      setup_.paths.root / CampaignPaths::log(a.event.job, "out"));
    std::error_code absent;
    const auto size =
        fs::file_size(setup_.paths.root / CampaignPaths::log(a.event.job, "err"), absent);
    a.log_begin = absent ? 0 : size;
    return a;
  }

  void finish(Attempt& a, const TaskEnd& end) {
    bring_back(a.back);
    JobEvent event = a.event;
    event.ended = true;
    event.at = utc_now();
    event.code = end.code;
    Said problem;
    std::optional<Document> fresh = read_fresh(a, event, problem);
    const auto concluded = [&] {
      return conclude_job(end, fresh ? &*fresh : nullptr, problem,
                          {setup_.paths.root / CampaignPaths::log(event.job, "err"), a.log_begin},
                          step_of(a).deadline_seconds);
    };
    event.state = concluded().state;
    if (fresh)
      event.unmet = unmet_criteria(profile_, step_of(a).id, setup_.campaign.hosts.size(), *fresh);
    if (fresh && !promote(a, event, problem)) fresh.reset();
    const JobEnd conclusion = concluded();
    event.state = a.outcome->state = conclusion.state;
    event.reason = a.outcome->reason = conclusion.reason;
    note(event);
    if (fresh && event.adds && a.outcome->document) pool_samples(*fresh, *a.outcome->document);
    a.outcome->document = std::move(fresh);
  }

  // The document that the attempt wrote, even if the job ended badly. If there is none, returns
  // nothing and sets `problem`.
  static std::optional<Document> read_fresh(const Attempt& a, JobEvent& event, Said& problem) {
    std::error_code failed;
    if (!fs::exists(a.partial, failed)) {
      problem = said("end.no_record");
      return std::nullopt;
    }
    try {
      const std::string text = read_file(a.partial);
      Document document = parse_document(text, a.partial.filename().string());
      event.sha256 = sha256_hex(text);
      event.bad = bad_news(document);
      return document;
    } catch (const UsageError& e) {
      problem = said("end.unusable_record", e.problems().list.front().said());
      return std::nullopt;
    }
  }

  // Gives a complete record its name. It never replaces a file of an earlier attempt.
  bool promote(const Attempt& a, JobEvent& event, Said& problem) const {
    event.file = record_name(setup_.paths, event);
    std::error_code failed;
    fs::rename(a.partial, setup_.paths.root / event.file, failed);
    if (!failed) return true;
    event.sha256.clear();
    problem = said("end.not_renamed", failed.message());
    return false;
  }

  // Learns from the first step of a case that knows the hosts what the hosts have.
  void learn(const Step& step, const std::vector<JobOutcome>& outcomes) {
    const CaseInfo* info = find_case(setup_.catalogue, step.case_name);
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
        inventories_.emplace(o.key.host.empty() ? inventory.host : o.key.host, inventory);
    }
    bad_hosts_.learn_names(outcomes);
  }

  // Takes bad hosts out, and says which steps that concerns.
  Next look_for_bad_hosts(const Round& round, const std::vector<JobOutcome>& outcomes) {
    const Step& step = profile_.steps[round.step];
    if (step.id == first_look_) add_inventories(outcomes);
    if (step.scope == Scope::cluster) return look_at_cluster(step, outcomes);
    const std::vector<ExcludedHost> bad =
        bad_hosts_.of_single_hosts(step, outcomes, step.id == first_look_);
    return take_out(bad) ? Next::from_start : Next::go_on;
  }

  // A step across all hosts that did not get done: whoever does not answer is out; if all answer it
  // is tried again as often as its retries allow, and then without those that the watchdogs named.
  Next look_at_cluster(const Step& step, const std::vector<JobOutcome>& outcomes) {
    const JobOutcome& o = outcomes.front();
    const bool ended_badly = o.state == JobState::failed || o.state == JobState::deadline;
    if (!ended_badly || o.kept || !tested_.contains(o.key.name)) return Next::go_on;
    if (repeats_[o.key.name]++ >= kMaxRepeats) return Next::go_on;
    const std::vector<HostSlots> hosts = roster_.active();
    if (hosts.size() == 1) return retry_cluster(step, o);
    std::vector<ExcludedHost> bad = bad_hosts_.silent_after(step, o);
    if (stopped()) return Next::go_on;
    if (bad.empty() && retry_cluster(step, o) == Next::repeat) return Next::repeat;
    if (bad.empty()) bad = bad_hosts_.suspected(step, o);
    if (bad.empty() || setup_.campaign.exclude == Exclude::never) return Next::go_on;
    return take_out(bad) ? Next::from_start : Next::repeat;
  }

  Next retry_cluster(const Step& step, const JobOutcome& o) {
    if (!is_worth_a_retry(step, o) || retries_[o.key.name] >= step.retries) return Next::go_on;
    ++retries_[o.key.name];
    return Next::repeat;
  }

  // Returns true if a spare steps in.
  bool take_out(const std::vector<ExcludedHost>& bad) {
    bool stepped_in = false;
    for (ExcludedHost out : bad) {
      out.by = roster_.next_spare().value_or("");
      stepped_in |= !out.by.empty();
      writer_.roster({.back = false, .out = out});
      roster_.take_out(out);
      observer_.excluded(out);
    }
    if (stepped_in) jobs_ = all_jobs(roster_);
    return stepped_in;
  }

  const RunSetup& setup_;
  const RunObserver& observer_;
  const Profile& profile_;
  Roster roster_;
  const std::vector<Round> rounds_;
  std::vector<JobKey> jobs_ = {};
  ChainRoot root_;
  Journal journal_;  // as earlier runs left it, and what this one has added
  JournalWriter writer_;
  BadHosts bad_hosts_;
  bool learnt_ = false;
  std::string first_look_;  // the step that told what the hosts have
  std::map<std::string, HostInventory> inventories_;
  std::set<std::string> tested_;                  // jobs that this run has started
  std::map<std::string, int> repeats_, retries_;  // of steps across all hosts, by job
};

Command command_for(const RunSetup& setup, const Step& step, const std::vector<HostSlots>& hosts,
                    const JobProgram& program) {
  const CaseInfo* info = case_of(step, setup.catalogue);
  if (info == nullptr)
    throw UsageError("profile " + setup.campaign.profile.name,
                     fmt::format("steps[{}].case", step.id),
                     fmt::format("{} is not a case of this clusterbench", step.case_name));
  return launch_command(setup.campaign.launch, hosts, step.ranks_per_host, step_environment(step),
                        step_arguments(step, *info, program));
}

}  // namespace

Command step_command(const RunSetup& setup, const Step& step, const std::vector<HostSlots>& hosts,
                     const fs::path& record, const std::string& token) {
  return command_for(setup, step, hosts,
                     {setup.binary, setup.paths.scratch(), record, setup.campaign.redact, token});
}

Command job_command(const RunSetup& setup, const JobKey& key, const std::vector<HostSlots>& hosts,
                    const fs::path& record, const std::string& token) {
  return step_command(setup, setup.campaign.profile.steps[key.step], hosts, record, token);
}

std::string step_fingerprint(const RunSetup& setup, const Step& step,
                             const std::vector<HostSlots>& hosts, const std::string& record) {
  const JobProgram placeless{"clusterbench", CampaignPaths{"DIR"}.scratch(), record,
                             setup.campaign.redact};
  return fingerprint(command_for(setup, step, hosts, placeless), setup.tool,
                     setup.campaign.profile.sha256);
}

std::vector<HostSlots> hosts_so_far(const RunSetup& setup) {
  if (!fs::exists(setup.paths.journal())) return setup.campaign.hosts;
  const ChainRoot root = chain_root(setup.campaign, read_file(setup.paths.campaign()));
  return read_roster(setup.campaign, read_journal(setup.paths.journal(), root)).all();
}

RunEnd run_campaign(const RunSetup& setup, const RunObserver& observer) {
  return CampaignRun(setup, observer).run();
}

}  // namespace cb
