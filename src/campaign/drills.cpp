#include "campaign/drills.h"

#include <algorithm>

#include "campaign/attempts.h"
#include "campaign/bind.h"
#include "campaign/leftovers.h"
#include "campaign/record_readings.h"
#include "campaign/roster.h"
#include "core/clock.h"
#include "core/error.h"
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
    if (r.case_name != drill_info().name)
      return said("bind.case", terminal_safe(r.case_name), drill_info().name);
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

  Job load(const std::string& job, const DrillName& name) {
    Job out{.step = drill_step(name.drill), .host = name.host};
    std::vector<AttemptDocument> attempts;
    std::optional<Said> problem;
    for (const JobEvent& e : journal_.documents(job)) {
      out.file = e.file;
      auto document = read(e, name, problem);
      if (!document) continue;
      out.attempts.push_back({e.attempt, e.file, document->run.started, document->run.ended});
      attempts.push_back({e.attempt, false, std::move(*document)});
    }
    if (!attempts.empty()) out.document = join_attempts(std::move(attempts));
    conclude(out, job, problem);
    return out;
  }

 private:
  std::optional<Document> read(const JobEvent& event, const DrillName& name,
                               std::optional<Said>& problem) {
    LoadedRecord loaded = load_record(paths_.root, event, false);
    digests_[event.file] = loaded.sha256;
    if (!loaded.document) {
      problem = loaded.problem;
      return std::nullopt;
    }
    const JobEvent* start = journal_.start_of(event.job, event.attempt);
    const bool known = start != nullptr && start->session < journal_.sessions.size();
    const ToolInfo& tool = known ? journal_.sessions[start->session].tool : file_.tool;
    const auto misfit = start == nullptr ? std::optional(said("bind.not_begun"))
                                         : drill_misfit(name, *loaded.document, file_, tool);
    if (!misfit) return std::move(loaded.document);
    problem = said("bind.not_of_job", terminal_safe(event.file), *misfit);
    return std::nullopt;
  }

  // Done is a drill whose last attempt left a document, and of which no document is lost.
  void conclude(Job& out, const std::string& job, const std::optional<Said>& problem) const {
    const JobEvent* last = journal_.last(job);
    const JobEvent* start = journal_.last_start(job);
    if (start != nullptr) {
      out.started = start->at;
      out.command = start->command;
    }
    out.ended = last->ended ? last->at : "";
    out.state = last->ended ? last->state : JobState::missing;
    out.reason = last->ended ? last->reason : said("end.interrupted");
    if (problem) {
      out.state = JobState::failed;
      out.reason = *problem;
      out.curable = false;
      out.document.reset();
    }
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

void DrillJournal::end(JobEvent attempt, const Said& reason) {
  attempt.ended = true;
  attempt.command.clear();
  attempt.state = JobState::failed;
  attempt.code = 4;
  attempt.reason = reason;
  attempt.at = utc_now();
  note(attempt);
}

void DrillJournal::close() {
  if (!opened_ || journal_.finished.empty()) return;
  writer_.finished(utc_now(), evidence_digest(setup_.paths));
  write_manifest(setup_.paths);
}

std::vector<Job> load_drills(const CampaignPaths& paths, const CampaignFile& file,
                             const Journal& journal, std::map<std::string, std::string>& digests) {
  std::vector<Job> out;
  DrillLoader loader(paths, file, journal, digests);
  for (const auto& [job, events] : journal.jobs) {
    if (const auto name = drill_of(job)) out.push_back(loader.load(job, *name));
  }
  return out;
}

}  // namespace cb
