// Attempts of jobs: each is journaled before it begins and when it ends.
#include "campaign/run_jobs.h"

#include <algorithm>

#include <fmt/format.h>

#include "campaign/again.h"
#include "campaign/attempts.h"
#include "campaign/job_reason.h"
#include "campaign/leftovers.h"
#include "campaign/pool.h"
#include "campaign/settle.h"
#include "campaign/way_back.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/file.h"
#include "core/sha256.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

struct JobAttemptRun {
  JobOutcome* outcome = nullptr;
  JobEvent event;
  fs::path partial;  // where the job writes; renamed once it has ended
  WayBack back = {};
  uintmax_t log_begin = 0;
};

class JobRunner {
 public:
  explicit JobRunner(RunState& state) : s_(state) {}

  void run(std::vector<JobOutcome>& outcomes, const std::vector<size_t>& todo) {
    std::vector<JobAttemptRun> attempts;
    std::vector<Task> tasks;
    for (const size_t i : todo) {
      attempts.push_back(prepare(outcomes[i]));
      tasks.push_back(task_of(attempts.back()));
      attempts.back().event.command = tasks.back().command.argv;
      s_.tested.insert(outcomes[i].key.name);
    }
    const ExecutorEvents events{[&](size_t i) {
                                  attempts[i].event.at = utc_now();
                                  s_.note(attempts[i].event);
                                },
                                [&](size_t i, const TaskEnd& end) { finish(attempts[i], end); },
                                [&] { s_.observer.stopping(); }};
    run_tasks(tasks, s_.setup.executor, events);
  }

 private:
  const Step& step_of(const JobAttemptRun& a) const { return s_.step_of(a.outcome->key); }
  fs::path path(const std::string& file) const { return s_.setup.paths.root / file; }

  JobAttemptRun prepare(JobOutcome& outcome) const {
    JobAttemptRun a{.outcome = &outcome};
    a.event.job = outcome.key.name;
    a.event.attempt = s_.attempts(outcome.key.name) + 1;
    a.event.fingerprint = wanted_fingerprint(s_, outcome.key);
    a.event.adds = s_.journal.goes_on(a.event.job, a.event.fingerprint);
    if (a.event.adds && !outcome.document)
      outcome.document = s_.figures_of(a.event.job, a.event.fingerprint);
    a.partial =
        path(CampaignPaths::record(a.event.job) + fmt::format(".{}.partial", a.event.attempt));
    a.back =
        way_back(s_.setup.campaign.launch, a.partial, path(CampaignPaths::log(a.event.job, "out")));
    std::error_code absent;
    const auto size = fs::file_size(path(CampaignPaths::log(a.event.job, "err")), absent);
    a.log_begin = absent ? 0 : size;
    return a;
  }

  Task task_of(const JobAttemptRun& a) const {
    const JobKey& key = a.outcome->key;
    Task task;
    task.command =
        step_command(s_.setup, s_.step_for(key), s_.hosts_of(key), a.partial, a.back.token);
    task.out = a.back.out();
    task.err = path(CampaignPaths::log(a.event.job, "err"));
    task.deadline_seconds = step_of(a).deadline_seconds + kLateSeconds;
    task.start_deadline_seconds = step_of(a).start_deadline_seconds;
    return task;
  }

  void finish(JobAttemptRun& a, const TaskEnd& end) {
    bring_back(a.back);
    JobEvent event = a.event;
    event.ended = true;
    event.at = utc_now();
    event.code = end.code;
    Said problem;
    std::optional<Document> fresh = read_fresh(a, event, problem);
    const auto concluded = [&] {
      return conclude_job(end, fresh ? &*fresh : nullptr, problem,
                          {path(CampaignPaths::log(event.job, "err")), a.log_begin},
                          step_of(a).deadline_seconds);
    };
    event.state = concluded().state;
    if (fresh)
      event.unmet =
          unmet_criteria(s_.profile, step_of(a).id, s_.setup.campaign.hosts.size(), *fresh);
    if (fresh && !promote(a, event, problem)) fresh.reset();
    const JobEnd conclusion = concluded();
    event.state = a.outcome->state = conclusion.state;
    event.reason = a.outcome->reason = conclusion.reason;
    s_.note(event);
    if (fresh && event.adds && a.outcome->document) pool_samples(*fresh, *a.outcome->document);
    a.outcome->document = std::move(fresh);
  }

  // The document that the attempt wrote, even if the job ended badly. If there is none, returns
  // nothing and sets `problem`.
  static std::optional<Document> read_fresh(const JobAttemptRun& a, JobEvent& event,
                                            Said& problem) {
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
  bool promote(const JobAttemptRun& a, JobEvent& event, Said& problem) const {
    event.file = record_name(s_.setup.paths, event);
    std::error_code failed;
    fs::rename(a.partial, path(event.file), failed);
    if (!failed) return true;
    event.sha256.clear();
    problem = said("end.not_renamed", failed.message());
    return false;
  }

  RunState& s_;
};

}  // namespace

void run_jobs(RunState& state, std::vector<JobOutcome>& outcomes, const std::vector<size_t>& todo) {
  JobRunner(state).run(outcomes, todo);
}

}  // namespace cb
