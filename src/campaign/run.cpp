#include "campaign/run.h"

#include <algorithm>
#include <csignal>
#include <set>

#include <fmt/format.h>

#include "campaign/again.h"
#include "campaign/attempts.h"
#include "campaign/job_reason.h"
#include "campaign/journal.h"
#include "campaign/leftovers.h"
#include "campaign/lost.h"
#include "campaign/pool.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/file.h"
#include "core/profile_limits.h"
#include "core/sha256.h"
#include "judge/applies.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_of(const std::vector<HostSlots>& hosts) {
  std::vector<std::string> out;
  for (const HostSlots& h : hosts) out.push_back(h.name);
  return out;
}

class CampaignRun {
 public:
  CampaignRun(const RunSetup& setup, const RunObserver& observer)
      : setup_(setup),
        observer_(observer),
        profile_(setup.campaign.profile),
        jobs_(plan_jobs(profile_, names_of(setup.campaign.hosts))),
        root_(chain_root(setup.campaign, read_file(setup.paths.campaign()))),
        journal_(read_journal(setup.paths.journal(), root_)),
        writer_(setup.paths.journal(), root_.campaign_sha256, setup.key) {}

  RunEnd run() {
    prepare();
    RunEnd end;
    for (size_t step = 0; step < profile_.steps.size(); ++step) {
      const double start = monotonic_seconds();
      observer_.step_begins(profile_.steps[step]);
      const std::vector<JobOutcome> outcomes = run_step(step);
      if (stopped()) {
        end.interrupted = true;
        break;
      }
      learn(profile_.steps[step], outcomes);
      observer_.step_ends(profile_.steps[step], outcomes, monotonic_seconds() - start);
      ++end.steps_ended;
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

  // Adopts documents that jobs have written after their run was killed: they are evidence like any
  // other.
  void keep_leftovers() {
    const Journal now = read_journal(setup_.paths.journal(), root_);
    const auto unmet = [&](const std::string& job, const Document& document) {
      const auto key = std::ranges::find(jobs_, job, &JobKey::name);
      if (key == jobs_.end()) return 0;  // the document of no job proves nothing
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
    std::error_code ignored;
    fs::remove(setup_.paths.manifest(), ignored);  // it would no longer be true
    for (const fs::path& directory :
         {setup_.paths.records(), setup_.paths.logs(), setup_.paths.scratch()}) {
      std::error_code failed;
      fs::create_directories(directory, failed);
      if (failed)
        throw Error(fmt::format("cannot create {}: {}", directory.string(), failed.message()));
    }
  }

  std::vector<JobOutcome> run_step(size_t step) {
    std::vector<JobOutcome> outcomes;
    for (const JobKey& key : jobs_) {
      if (key.step == step) outcomes.push_back({.key = key});
    }
    std::vector<size_t> todo;
    for (size_t i = 0; i < outcomes.size(); ++i) {
      if (settle(outcomes[i])) continue;
      outcomes[i].kept = false;
      todo.push_back(i);
    }
    execute(outcomes, todo);
    return outcomes;
  }

  std::vector<HostSlots> hosts_of(const JobKey& key) const {
    std::vector<HostSlots> out;
    for (const HostSlots& h : setup_.campaign.hosts) {
      if (key.host.empty() ? !excluded_.contains(h.name) : h.name == key.host) out.push_back(h);
    }
    return out;
  }

  // True if the job needs no running: it is done, not applicable, or its host is left out.
  bool settle(JobOutcome& outcome) {
    const JobKey& key = outcome.key;
    const Step& step = profile_.steps[key.step];
    const std::vector<HostSlots> hosts = hosts_of(key);
    const auto because = excluded_.find(key.host);
    if (because != excluded_.end() || hosts.empty()) {
      const Said why = because == excluded_.end() ? said("end.all_left_out") : because->second;
      conclude(outcome, JobState::missing, why);
      return true;
    }
    const NeedsFit fit = needs_fit(step, key);
    if (fit.fit == Fit::unmet) {
      conclude(outcome, JobState::not_applicable, fit.reason());
      return true;
    }
    if (const auto why = cannot_launch(setup_.campaign.launch, hosts, step.ranks_per_host)) {
      conclude(outcome, JobState::missing, *why);
      return true;
    }
    const std::string wanted = key_fingerprint(key);
    if (lost(outcome, wanted)) return true;
    return keep(outcome, wanted) && !once_more(key);
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
    return setup_.again.contains({profile_.steps[key.step].id, key.host});
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
    writer_.job(event);
  }

  int attempts(const std::string& job) const {
    const JobEvent* start = journal_.last_start(job);
    return start == nullptr ? 0 : start->attempt;
  }

  struct Attempt {
    JobOutcome* outcome = nullptr;
    JobEvent event;
    fs::path partial;  // where the job writes; renamed once it has ended
    uintmax_t log_begin = 0;
  };

  void execute(std::vector<JobOutcome>& outcomes, const std::vector<size_t>& todo) {
    std::vector<Attempt> attempts;
    std::vector<Task> tasks;
    for (const size_t i : todo) {
      attempts.push_back(prepare_attempt(outcomes[i]));
      Attempt& a = attempts.back();
      Task task;
      task.command = job_command(setup_, outcomes[i].key, hosts_of(outcomes[i].key), a.partial);
      task.out = setup_.paths.root / CampaignPaths::log(a.event.job, "out");
      task.err = setup_.paths.root / CampaignPaths::log(a.event.job, "err");
      task.deadline_seconds = profile_.steps[outcomes[i].key.step].deadline_seconds + kLateSeconds;
      a.event.command = task.command.argv;
      tasks.push_back(std::move(task));
    }
    const ExecutorEvents events{[&](size_t i) {
                                  attempts[i].event.at = utc_now();
                                  writer_.job(attempts[i].event);
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
    std::error_code absent;
    const auto size =
        fs::file_size(setup_.paths.root / CampaignPaths::log(a.event.job, "err"), absent);
    a.log_begin = absent ? 0 : size;
    return a;
  }

  void finish(Attempt& a, const TaskEnd& end) {
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
    writer_.job(event);
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

  // Learns from the first step of a case that knows the hosts what the hosts have, and which cannot
  // be reached.
  void learn(const Step& step, const std::vector<JobOutcome>& outcomes) {
    const CaseInfo* info = find_case(setup_.catalogue, step.case_name);
    if (info == nullptr || !info->learns_hosts || learnt_) return;
    learnt_ = true;
    for (const JobOutcome& o : outcomes) {
      if (!o.key.host.empty() && o.state != JobState::done && o.state != JobState::not_applicable)
        excluded_[o.key.host] = said("end.left_out", step.id, o.reason);
      if (!o.document) continue;
      for (const HostInventory& inventory : o.document->hosts)
        inventories_.emplace(o.key.host.empty() ? inventory.host : o.key.host, inventory);
    }
  }

  const RunSetup& setup_;
  const RunObserver& observer_;
  const Profile& profile_;
  std::vector<JobKey> jobs_;
  ChainRoot root_;
  Journal journal_;  // as earlier runs left it
  JournalWriter writer_;
  bool learnt_ = false;
  std::map<std::string, HostInventory> inventories_;
  std::map<std::string, Said> excluded_;  // host → reason
};

}  // namespace

Command step_command(const RunSetup& setup, const Step& step, const std::vector<HostSlots>& hosts,
                     const fs::path& record) {
  const CaseInfo* info = case_of(step, setup.catalogue);
  if (info == nullptr)
    throw UsageError("profile " + setup.campaign.profile.name,
                     fmt::format("steps[{}].case", step.id),
                     fmt::format("{} is not a case of this clusterbench", step.case_name));
  const JobProgram program{setup.binary, setup.paths.scratch(), record, setup.campaign.redact};
  return launch_command(setup.campaign.launch, hosts, step.ranks_per_host, step.env,
                        step_arguments(step, *info, program));
}

Command job_command(const RunSetup& setup, const JobKey& key, const std::vector<HostSlots>& hosts,
                    const fs::path& record) {
  return step_command(setup, setup.campaign.profile.steps[key.step], hosts, record);
}

std::string step_fingerprint(const RunSetup& setup, const Step& step,
                             const std::vector<HostSlots>& hosts, const std::string& record) {
  const RunSetup placeless = {.paths = {"DIR"},
                              .campaign = setup.campaign,
                              .tool = setup.tool,
                              .command = {},
                              .binary = "clusterbench",
                              .catalogue = setup.catalogue,
                              .executor = {}};
  return fingerprint(step_command(placeless, step, hosts, record), setup.tool,
                     setup.campaign.profile.sha256);
}

RunEnd run_campaign(const RunSetup& setup, const RunObserver& observer) {
  return CampaignRun(setup, observer).run();
}

}  // namespace cb
