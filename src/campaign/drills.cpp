#include "campaign/drills.h"

#include <algorithm>
#include <iterator>

#include "campaign/attempts.h"
#include "campaign/bind.h"
#include "campaign/leftovers.h"
#include "campaign/record_readings.h"
#include "campaign/roster.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/exit_code.h"
#include "core/file.h"
#include "core/profile_drills.h"
#include "core/sha256.h"
#include "core/text.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kJobPrefix = "drill-";

// A job of the journal that is a drill's.
struct DrillName {
  std::string drill, host;
};

std::optional<DrillName> drill_of(const std::string& job) {
  const size_t mark = job.find('@');
  if (!job.starts_with(kJobPrefix) || mark == std::string::npos) return std::nullopt;
  DrillName out{job.substr(kJobPrefix.size(), mark - kJobPrefix.size()), job.substr(mark + 1)};
  if (std::ranges::find(known_drills(), out.drill) == known_drills().end()) return std::nullopt;
  return out;
}

// Why the document is none of this drill; nothing if it is.
std::optional<Said> drill_misfit(const DrillName& name, const Document& document,
                                 const CampaignFile& file, const ToolInfo& tool) {
  const ToolInfo& own = document.tool;
  if (own.version != tool.version || own.commit != tool.commit || own.dirty != tool.dirty)
    return said("bind.tool", terminal_safe(own.version + " " + own.commit),
                terminal_safe(tool.version + " " + tool.commit));
  const SlotsOfHosts slots = slots_of_hosts(file);
  for (const std::string& host : document.run.hosts) {
    if (!slots.contains(host)) return said("bind.no_host", terminal_safe(host));
  }
  for (const Record& r : document.records) {
    if (r.case_name != kDrillCase) return said("bind.case", terminal_safe(r.case_name), kDrillCase);
    const bool same = r.params.has("id") && to_text(r.params.all().at("id").front()) == name.drill;
    if (!same) return said("bind.case", terminal_safe(r.case_name), name.drill);
    for (const Entity& e : r.entities) {
      if (e.host != name.host) return said("bind.other_host", terminal_safe(e.host), name.host);
    }
  }
  if (document.records.size() != 1) return said("bind.case", "", name.drill);
  return std::nullopt;
}

class DrillLoader {
 public:
  DrillLoader(const CampaignPaths& paths, const CampaignFile& file, const Journal& journal,
              std::map<std::string, std::string>& digests)
      : paths_(paths), file_(file), journal_(journal), digests_(digests) {}

  // A job for each time the drill was made: each is judged, so that a bad one stays however often
  // it is made again. So does one that somebody stopped: he may have seen that it goes badly. One
  // that could not be made counts only if it was the last.
  std::vector<Job> load(const std::string& job, const DrillName& name) {
    std::vector<Job> out;
    const std::vector<JobEvent> documents = journal_.documents(job);
    const JobEvent* last = journal_.last(job);
    for (const JobEvent& start : journal_.jobs.at(job)) {
      if (start.ended) continue;
      const auto document = std::ranges::find(documents, start.attempt, &JobEvent::attempt);
      if (document != documents.end())
        out.push_back(made(*document, name));
      else if (const JobEvent& end = end_of(start); is_stopped(end) || &end == last)
        out.push_back(broken_off(end, name));
    }
    return out;
  }

 private:
  Job begun(const JobEvent& event, const DrillName& name) const {
    Job out{.step = drill_step(name.drill), .host = name.host};
    if (const JobEvent* start = journal_.start_of(event.job, event.attempt)) {
      out.started = start->at;
      out.command = start->command;
    }
    return out;
  }

  // The event that ends the attempt; its start if none does.
  const JobEvent& end_of(const JobEvent& start) const {
    for (const JobEvent& e : journal_.jobs.at(start.job)) {
      if (e.ended && e.attempt == start.attempt) return e;
    }
    return start;
  }

  static bool is_stopped(const JobEvent& end) {
    return !end.ended || end.code == static_cast<int>(ExitCode::interrupted);
  }

  Job broken_off(const JobEvent& end, const DrillName& name) const {
    Job out = begun(end, name);
    out.state = end.ended ? end.state : JobState::missing;
    out.reason = is_stopped(end) ? said("end.drill_stopped", end.attempt) : end.reason;
    out.ended = end.ended ? end.at : "";
    out.curable = !is_stopped(end);
    return out;
  }

  Job made(const JobEvent& event, const DrillName& name) {
    Job out = begun(event, name);
    out.file = event.file;
    out.ended = event.at;
    LoadedRecord loaded = load_record(paths_.root, event, false);
    digests_[event.file] = loaded.sha256;
    const auto problem = loaded.document ? misfit_of_drill(event, name, *loaded.document)
                                         : std::optional(loaded.problem);
    out.attempts = {{event.attempt, event.file, out.started, out.ended}};
    out.state = problem ? JobState::failed : event.state;
    out.reason = problem.value_or(event.reason);
    out.curable = !problem;
    if (!problem) out.document = std::move(loaded.document);
    return out;
  }

  std::optional<Said> misfit_of_drill(const JobEvent& event, const DrillName& name,
                                      const Document& document) const {
    const JobEvent* start = journal_.start_of(event.job, event.attempt);
    const bool known = start != nullptr && start->session < journal_.sessions.size();
    const ToolInfo& tool = known ? journal_.sessions[start->session].tool : file_.tool;
    const auto misfit = start == nullptr ? std::optional(said("bind.not_begun"))
                                         : drill_misfit(name, document, file_, tool);
    if (!misfit) return std::nullopt;
    return said("bind.not_of_job", terminal_safe(event.file), *misfit);
  }

  const CampaignPaths& paths_;
  const CampaignFile& file_;
  const Journal& journal_;
  std::map<std::string, std::string>& digests_;
};

}  // namespace

std::string drill_job(const std::string& drill, const std::string& host) {
  return std::string(kJobPrefix) + drill + "@" + host;
}

DrillJournal::DrillJournal(const RunSetup& setup)
    : setup_(setup),
      lock_(setup.paths),
      journal_(read_journal(setup.paths.journal(),
                            chain_root(setup.campaign, read_file(setup.paths.campaign())))),
      roster_(read_roster(setup.campaign, journal_)),
      writer_(setup.paths.journal(),
              chain_root(setup.campaign, read_file(setup.paths.campaign())).campaign_sha256,
              setup.key) {}

fs::path DrillJournal::directory(const JobEvent& attempt) const {
  return setup_.paths.root / "drills" / (attempt.job + "." + std::to_string(attempt.attempt));
}

void DrillJournal::note(const JobEvent& event) {
  writer_.job(event);
  journal_.jobs[event.job].push_back(event);
}

JobEvent DrillJournal::begin(const std::string& drill, const std::string& host) {
  if (!opened_) writer_.session({utc_now(), setup_.tool, setup_.command});
  opened_ = true;
  JobEvent event{.job = drill_job(drill, host)};
  const JobEvent* before = journal_.last_start(event.job);
  event.attempt = before == nullptr ? 1 : before->attempt + 1;
  event.at = utc_now();
  // Each drill is one of its own: no figures of two are put together.
  event.fingerprint = sha256_hex(event.job + " " + std::to_string(event.attempt));
  event.command = setup_.command;
  note(event);
  return event;
}

void DrillJournal::end(JobEvent attempt, const Document& document) {
  attempt.ended = true;
  attempt.command.clear();
  attempt.state = JobState::done;
  attempt.bad = bad_news(document);
  attempt.code = attempt.bad.any() ? 1 : 0;
  const std::string text = to_json_text(document);
  attempt.sha256 = sha256_hex(text);
  attempt.file = record_name(setup_.paths, attempt);
  write_file_atomically(setup_.paths.root / attempt.file, text);
  attempt.at = utc_now();
  note(attempt);
}

void DrillJournal::end(JobEvent attempt, const Said& reason, ExitCode code) {
  attempt.ended = true;
  attempt.command.clear();
  attempt.state = JobState::failed;
  attempt.code = static_cast<int>(code);
  attempt.reason = reason;
  attempt.at = utc_now();
  note(attempt);
}

void DrillJournal::close() {
  if (!opened_ || journal_.finished.empty()) return;
  writer_.finished(utc_now(), evidence_digest(setup_.paths));
  write_manifest(setup_.paths);
}

std::vector<std::string> drill_jobs(const Journal& journal) {
  std::vector<std::string> out;
  for (const auto& [job, events] : journal.jobs) {
    if (drill_of(job)) out.push_back(job);
  }
  return out;
}

std::vector<Job> load_drills(const CampaignPaths& paths, const CampaignFile& file,
                             const Journal& journal, std::map<std::string, std::string>& digests) {
  std::vector<Job> out;
  DrillLoader loader(paths, file, journal, digests);
  for (const auto& [job, events] : journal.jobs) {
    if (const auto name = drill_of(job))
      std::ranges::move(loader.load(job, *name), std::back_inserter(out));
  }
  return out;
}

}  // namespace cb
