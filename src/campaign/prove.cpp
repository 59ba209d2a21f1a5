#include "campaign/prove.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "campaign/command_line.h"
#include "campaign/fault_search.h"
#include "campaign/job_reason.h"
#include "campaign/journal.h"
#include "campaign/load_proofs.h"
#include "campaign/proof_step.h"
#include "campaign/roster.h"
#include "campaign/way_back.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/file.h"
#include "core/sha256.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

const CaseInfo& info_of(const RunSetup& setup, const Step& step) {
  const CaseInfo* info = case_of(step, setup.catalogue);
  if (info != nullptr) return *info;
  throw UsageError("profile " + setup.campaign.profile.name, fmt::format("steps[{}].case", step.id),
                   fmt::format("{} is not a case of this clusterbench", step.case_name));
}

class Prover {
 public:
  Prover(const RunSetup& setup, const ProofObserver& observer)
      : setup_(setup),
        observer_(observer),
        root_(chain_root(setup.campaign, read_file(setup.paths.campaign()))),
        journal_(read_journal(setup.paths.journal(), root_)),
        roster_(read_roster(setup.campaign, journal_)),
        writer_(setup.paths.journal(), root_.campaign_sha256, setup.key) {}

  bool run() {
    const std::vector<ProofJob> jobs = plan_proofs(setup_);
    count_earlier(jobs);
    const bool all_kept = nothing_to_do(jobs);
    if (!all_kept) prepare();
    for (size_t begin = 0; begin < jobs.size();) {
      size_t end = begin;
      while (end < jobs.size() && jobs[end].key.step == jobs[begin].key.step) ++end;
      prove_step({jobs.begin() + static_cast<std::ptrdiff_t>(begin),
                  jobs.begin() + static_cast<std::ptrdiff_t>(end)});
      if (setup_.executor.stop_signals() > 0) return false;
      begin = end;
    }
    if (all_kept) return true;
    remove_leftovers(setup_.paths);
    writer_.finished(utc_now(), evidence_digest(setup_.paths));
    write_manifest(setup_.paths);
    return true;
  }

 private:
  struct Attempt {
    const ProofJob* job = nullptr;
    ProofEvent event;
    fs::path partial;
    WayBack back = {};
    uintmax_t log_begin = 0;
  };

  // True if nothing is left to prove: a finished campaign then stays as it is, byte by byte.
  bool nothing_to_do(const std::vector<ProofJob>& jobs) const {
    return !journal_.finished.empty() &&
           std::ranges::all_of(jobs, [&](const ProofJob& j) { return !is_done(j) || kept(j); });
  }

  void prepare() {
    writer_.session({utc_now(), setup_.tool, setup_.command, true});
    std::error_code ignored;
    fs::remove(setup_.paths.manifest(), ignored);  // it would no longer be true
    for (const fs::path& directory : {setup_.paths.proofs(), setup_.paths.scratch()}) {
      std::error_code failed;
      fs::create_directories(directory, failed);
      if (failed)
        throw Error(fmt::format("cannot create {}: {}", directory.string(), failed.message()));
    }
    remove_unfinished();
  }

  // Removes documents of attempts whose end no run journaled: the run was killed, and their jobs
  // are repeated.
  void remove_unfinished() const {
    std::error_code ignored;
    for (const auto& [job, history] : journal_.proofs) {
      for (const ProofEvent& start : history.events) {
        const bool ended = std::ranges::any_of(history.events, [&](const ProofEvent& e) {
          return e.ended && e.attempt == start.attempt;
        });
        if (!ended)
          fs::remove(setup_.paths.root / CampaignPaths::proof(job, start.attempt), ignored);
      }
    }
  }

  const ProofHistory* history_of(const ProofJob& job) const {
    const auto found = journal_.proofs.find(job.key.name);
    return found == journal_.proofs.end() ? nullptr : &found->second;
  }

  // Only a job that was measured has a check to prove.
  bool is_done(const ProofJob& job) const {
    const JobEvent* last = journal_.last(job.key.name);
    const bool is_out = roster_.out(job.key.host) != nullptr;
    return last != nullptr && last->ended && last->state == JobState::done && !is_out;
  }

  // Reads the proofs of earlier runs as a report reads them.
  void count_earlier(const std::vector<ProofJob>& jobs) {
    std::vector<JobKey> keys;
    std::vector<Job> states;
    for (const ProofJob& job : jobs) {
      if (!is_done(job) || history_of(job) == nullptr) continue;
      keys.push_back(job.key);
      states.push_back({.state = JobState::done});
    }
    const std::vector<Proof> proofs =
        load_proofs({setup_.paths, setup_.campaign, journal_, setup_.catalogue}, keys, states);
    for (size_t i = 0; i < keys.size(); ++i) earlier_[keys[i].name] = proofs[i];
  }

  // The proof of an earlier run, if it is one of exactly this job and counts; else null.
  const Proof* kept(const ProofJob& job) const {
    const ProofHistory* history = history_of(job);
    const ProofEvent* end = history == nullptr ? nullptr : history->deciding();
    const auto earlier = earlier_.find(job.key.name);
    if (end == nullptr || earlier == earlier_.end()) return nullptr;
    const Proof& counted = earlier->second;
    if (counted.blind) return &counted;
    if (counted.state == ProofState::impossible) return job.why_none.empty() ? nullptr : &counted;
    const bool is_kept =
        counted.state == ProofState::shown && end->fingerprint == fingerprint_of(job);
    return is_kept ? &counted : nullptr;
  }

  // The hosts that the step's own job was started on.
  std::vector<HostSlots> hosts_of(const ProofJob& job) const {
    const std::vector<HostSlots> all = roster_.all();
    std::vector<std::string> names{job.key.host};
    if (job.key.host.empty()) {
      const JobEvent* start = journal_.last_start(job.key.name);
      names = start == nullptr ? std::vector<std::string>()
                               : launched_hosts(start->command, setup_.campaign.launch.launcher);
    }
    if (names.empty()) return all;
    std::vector<HostSlots> out;
    for (const HostSlots& h : all) {
      if (std::ranges::find(names, h.name) != names.end()) out.push_back(h);
    }
    return out;
  }

  std::string fingerprint_of(const ProofJob& job) const {
    return step_fingerprint(setup_, job.step, hosts_of(job), CampaignPaths::proof(job.key.name, 1));
  }

  void prove_step(const std::vector<ProofJob>& jobs) {
    const double start = monotonic_seconds();
    std::vector<Proof> proofs;
    std::vector<Attempt> attempts;
    for (const ProofJob& job : jobs) {
      if (!is_done(job)) continue;
      if (const Proof* before = kept(job))
        proofs.push_back(*before);
      else if (!job.why_none.empty())
        proofs.push_back(note_impossible(job));
      else
        attempts.push_back(begin(job));
    }
    const bool all_kept = attempts.empty();
    execute(attempts);
    for (Attempt& a : attempts) proofs.push_back(std::move(a.event.proof));
    if (!proofs.empty() && setup_.executor.stop_signals() == 0)
      observer_.step_ends(setup_.campaign.profile.steps[jobs.front().key.step], proofs, all_kept,
                          monotonic_seconds() - start);
  }

  ProofEvent event_of(const ProofJob& job) const {
    ProofEvent e{.job = job.key.name};
    const ProofHistory* history = history_of(job);
    e.attempt = history == nullptr ? 1 : history->attempts() + 1;
    e.proof.step = setup_.campaign.profile.steps[job.key.step].id;
    e.proof.host = job.key.host;
    return e;
  }

  Proof note_impossible(const ProofJob& job) {
    ProofEvent e = event_of(job);
    e.ended = true;
    e.at = utc_now();
    e.proof.state = ProofState::impossible;
    e.proof.reason = job.why_none;
    writer_.proof(e);
    return e.proof;
  }

  Attempt begin(const ProofJob& job) const {
    Attempt a{.job = &job, .event = event_of(job)};
    a.event.proof.planted = info_of(setup_, job.step).fault.planted;
    a.event.fingerprint = fingerprint_of(job);
    a.partial = setup_.paths.root / (CampaignPaths::proof(job.key.name, 1) +
                                     fmt::format(".{}.partial", a.event.attempt));
    a.back = way_back(setup_.campaign.launch, a.partial, log(a, "out"));
    std::error_code absent;
    const auto size = fs::file_size(log(a, "err"), absent);
    a.log_begin = absent ? 0 : size;
    return a;
  }

  fs::path log(const Attempt& a, const char* stream) const {
    return setup_.paths.root / CampaignPaths::log("proof-" + a.event.job, stream);
  }

  void execute(std::vector<Attempt>& attempts) {
    std::vector<Task> tasks;
    for (Attempt& a : attempts) {
      Task task;
      task.command = step_command(setup_, a.job->step, hosts_of(*a.job), a.partial, a.back.token);
      task.out = a.back.out();
      task.err = log(a, "err");
      task.deadline_seconds = a.job->step.deadline_seconds + kLateSeconds;
      a.event.command = task.command.argv;
      tasks.push_back(std::move(task));
    }
    const ExecutorEvents events{[&](size_t i) {
                                  attempts[i].event.at = utc_now();
                                  writer_.proof(attempts[i].event);
                                },
                                [&](size_t i, const TaskEnd& end) { finish(attempts[i], end); },
                                [&] { observer_.stopping(); }};
    run_tasks(tasks, setup_.executor, events);
  }

  // A job that was stopped has proved nothing: the next run begins it anew.
  void finish(Attempt& a, const TaskEnd& end) {
    bring_back(a.back);
    if (end.kind == TaskEnd::Kind::stopped) return;
    a.event.ended = true;
    a.event.at = utc_now();
    Said problem;
    const std::optional<Document> document = take(a, problem);
    const JobEnd conclusion =
        conclude_job(end, document ? &*document : nullptr, problem, {log(a, "err"), a.log_begin},
                     a.job->step.deadline_seconds);
    Proof& proof = a.event.proof;
    if (conclusion.state == JobState::done && document)
      search_fault(*document, a.job->step, info_of(setup_, a.job->step).fault, proof);
    else
      proof.reason = conclusion.reason;
    writer_.proof(a.event);
  }

  // Reads the document that the job wrote and gives it its name. If there is none, returns nothing
  // and sets `problem`.
  std::optional<Document> take(Attempt& a, Said& problem) const {
    std::error_code failed;
    if (!fs::exists(a.partial, failed)) {
      problem = said("end.no_record");
      return std::nullopt;
    }
    try {
      const std::string text = read_file(a.partial);
      Document document = parse_document(text, a.partial.filename().string());
      const std::string name = CampaignPaths::proof(a.event.job, a.event.attempt);
      fs::rename(a.partial, setup_.paths.root / name, failed);
      if (failed) throw UsageError(name, "", "could not be named: " + failed.message());
      a.event.proof.file = name;
      a.event.sha256 = sha256_hex(text);
      return document;
    } catch (const UsageError& e) {
      problem = said("end.unusable_record", e.problems().list.front().said());
      return std::nullopt;
    }
  }

  const RunSetup& setup_;
  const ProofObserver& observer_;
  ChainRoot root_;
  Journal journal_;  // as earlier runs left it
  Roster roster_;
  std::map<std::string, Proof> earlier_ = {};  // by job
  JournalWriter writer_;
};

}  // namespace

std::vector<ProofJob> plan_proofs(const RunSetup& setup) {
  std::vector<ProofJob> out;
  for (JobKey& key : campaign_jobs(setup.campaign, roster_so_far(setup))) {
    if (!has_proof(key)) continue;
    const Step& step = setup.campaign.profile.steps[key.step];
    const CaseInfo& info = info_of(setup, step);
    ProofJob job{.key = std::move(key), .step = step};
    if (const auto why = why_no_fault(step, info)) {
      job.why_none = *why;
    } else {
      job.step = proof_step(step, info);
      job.seconds = proof_seconds(job.step, info);
    }
    out.push_back(std::move(job));
  }
  return out;
}

double proofs_seconds(const std::vector<ProofJob>& jobs, size_t fan_out) {
  std::map<size_t, std::pair<size_t, double>> steps;  // by step: number of jobs, seconds of one
  for (const ProofJob& job : jobs) {
    if (!job.why_none.empty()) continue;
    ++steps[job.key.step].first;
    steps[job.key.step].second = job.seconds;
  }
  double out = 0;
  for (const auto& [step, all] : steps)
    out += all.second * std::ceil(static_cast<double>(all.first) / static_cast<double>(fan_out));
  return out;
}

bool wants_proofs(const RunSetup& setup) {
  if (setup.prove) return true;
  const ChainRoot root = chain_root(setup.campaign, read_file(setup.paths.campaign()));
  return read_journal(setup.paths.journal(), root).proving();
}

bool prove_campaign(const RunSetup& setup, const ProofObserver& observer) {
  return Prover(setup, observer).run();
}

}  // namespace cb
