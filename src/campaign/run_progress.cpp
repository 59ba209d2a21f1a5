#include "campaign/run_progress.h"

#include <algorithm>

#include <fmt/format.h>

#include "campaign/headline.h"
#include "campaign/roster.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/file.h"
#include "core/text.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

double seconds_between(const std::string& from, const std::string& to) {
  const auto a = seconds_since_epoch(from), b = seconds_since_epoch(to);
  return a && b && *b > *a ? static_cast<double>(*b - *a) : 0;
}

// Of all hosts that take or took part.
std::vector<JobKey> planned_jobs(const CampaignFile& file, const Journal& journal) {
  return campaign_jobs(file, read_roster(file, journal));
}

// The jobs of one round, as far as they have come.
struct RoundState {
  std::string first, last;
  size_t jobs = 0, over = 0, ran = 0;
};

class ProgressReader {
 public:
  ProgressReader(const CampaignFile& file, const Journal& journal, int64_t now)
      : file_(file), journal_(journal), now_(now) {}

  CampaignProgress read() {
    begin();
    const Roster roster = read_roster(file_, journal_);
    for (const JobKey& key : campaign_jobs(file_, roster)) {
      if (!is_given_up(key, roster)) {
        add_job(key);
      } else if (const JobEvent* last = journal_.last(key.name); last != nullptr) {
        out_.interruptions += last->state != JobState::missing ? 1 : 0;
      }
    }
    for (const auto& [round, state] : rounds_) add_round(round.first, state);
    estimate();
    return std::move(out_);
  }

 private:
  void begin() {
    out_.id = file_.id;
    out_.profile = file_.profile.name;
    out_.started = file_.started;
    out_.finished = journal_.finished;
    out_.warnings = journal_.warnings;
    out_.hosts = file_.hosts.size();
    if (file_.profile.soak) out_.cycles = file_.profile.soak->cycles();
    for (const Step& step : file_.profile.steps) out_.steps.push_back({.id = step.id});
    if (!journal_.sessions.empty()) out_.last_event = journal_.sessions.back().at;
  }

  // A host that a spare has replaced owes nothing any more.
  bool is_given_up(const JobKey& key, const Roster& roster) const {
    const JobEvent* last = journal_.last(key.name);
    return roster.is_replaced(key.host) &&
           (last == nullptr || (last->ended && last->state != JobState::done));
  }

  void add_job(const JobKey& key) {
    StepProgress& step = out_.steps[key.step];
    RoundState& round = rounds_[{key.step, key.cycle}];
    ++step.jobs;
    ++round.jobs;
    const JobEvent* last = journal_.last(key.name);
    if (last == nullptr) return;
    ++step.jobs_seen;
    out_.last_event = std::max(out_.last_event, last->at);
    const JobEvent* start = journal_.last_start(key.name);
    if (key.cycle > 0 && start != nullptr)
      out_.cycle = std::max(out_.cycle, std::min(key.cycle, out_.cycles));
    if (!last->ended) return add_running(step, key, *last);
    ++round.over;
    if (start != nullptr) {
      ++round.ran;
      if (round.first.empty() || start->at < round.first) round.first = start->at;
      round.last = std::max(round.last, last->at);
    }
    if (last->state == JobState::done) {
      ++step.done;
    } else if (last->state == JobState::not_applicable) {
      ++step.not_applicable;
    } else {
      ++step.bad;
      if (last->state != JobState::missing) ++out_.interruptions;
      step.last_problem = (key.label().empty() ? "" : key.label() + ": ") + last->reason.text();
    }
  }

  // A job of an earlier session that has no end was killed with it.
  void add_running(StepProgress& step, const JobKey& key, const JobEvent& start) {
    if (start.session + 1 != journal_.sessions.size() || !journal_.finished.empty()) return;
    const auto at = seconds_since_epoch(start.at);
    step.running.push_back(
        {key.label(), start.at, at ? std::max(0.0, static_cast<double>(now_ - *at)) : 0});
  }

  void add_round(size_t step, const RoundState& state) {
    StepProgress& s = out_.steps[step];
    ++s.rounds;
    if (state.over < state.jobs || state.jobs == 0) return;
    ++s.rounds_ended;
    s.rounds_seconds += seconds_between(state.first, state.last);
  }

  void estimate() {
    const auto start = seconds_since_epoch(out_.started);
    const auto end = seconds_since_epoch(out_.finished);
    if (start) out_.elapsed_seconds = static_cast<double>((end ? *end : now_) - *start);
    if (!out_.finished.empty()) return;
    double of_cycles = 0;
    size_t cycles_left = 0;
    for (const StepProgress& s : out_.steps) {
      const size_t left = s.rounds - s.rounds_ended;
      if (left == 0) continue;
      if (s.rounds_ended == 0) {
        ++out_.unknown;
        continue;
      }
      const double seconds = s.rounds_seconds / static_cast<double>(s.rounds_ended);
      double running = 0;
      for (const RunningJob& r : s.running) running = std::max(running, r.seconds);
      const double all = seconds * static_cast<double>(left) - std::min(running, seconds);
      if (s.rounds > 1) cycles_left = std::max(cycles_left, left);
      (s.rounds > 1 ? of_cycles : out_.left_seconds) += all;
    }
    // Cycles also rest.
    if (cycles_left > 0)
      of_cycles = std::max(
          of_cycles, static_cast<double>(cycles_left - 1) * file_.profile.soak->every_seconds);
    out_.left_seconds += of_cycles;
  }

  const CampaignFile& file_;
  const Journal& journal_;
  const int64_t now_;
  CampaignProgress out_;
  std::map<std::pair<size_t, size_t>, RoundState> rounds_;  // by step and cycle
};

std::optional<Document> read_document(const fs::path& path) {
  std::error_code failed;
  if (!fs::is_regular_file(path, failed)) return std::nullopt;
  try {
    return parse_document(read_file(path), path.filename().string(), false);
  } catch (const Error&) {
    return std::nullopt;  // being written just now, or no document
  }
}

// What a job has left last: its document, or as much of one as a running job has written.
std::optional<Document> newest_document(const CampaignPaths& paths, const Journal& journal,
                                        const std::string& job) {
  const JobEvent* last = journal.last(job);
  if (last == nullptr) return std::nullopt;
  if (!last->ended)
    return read_document(paths.root /
                         (CampaignPaths::record(job) + fmt::format(".{}.partial", last->attempt)));
  return last->file.empty() ? std::nullopt : read_document(paths.root / last->file);
}

void add_headlines(CampaignProgress& progress, const CampaignPaths& paths, const CampaignFile& file,
                   const Journal& journal, size_t documents) {
  std::map<size_t, std::vector<std::string>> jobs;
  for (const JobKey& key : planned_jobs(file, journal)) {
    if (journal.last(key.name) != nullptr) jobs[key.step].push_back(key.name);
  }
  for (const auto& [step, names] : jobs) {
    std::vector<Document> read;
    for (auto name = names.rbegin(); name != names.rend() && read.size() < documents; ++name) {
      if (auto document = newest_document(paths, journal, *name))
        read.push_back(std::move(*document));
    }
    std::vector<const Document*> all;
    for (const Document& d : read) all.push_back(&d);
    if (!all.empty())
      progress.steps[step].headline =
          headline(all, metric_rules(file.profile, progress.steps[step].id));
  }
}

std::string quoted_label(const std::string& text) {
  std::string out;
  for (const char c : terminal_safe(text)) {
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return "\"" + out + "\"";
}

// A metric family: its help and type, then its lines.
class Gauge {
 public:
  Gauge(std::string& text, const char* name, const char* help) : text_(text), name_(name) {
    text_ += fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n", name, help);
  }
  void add(double value, const std::string& labels = "") {
    text_ += fmt::format("{}{} {}\n", name_, labels.empty() ? "" : "{" + labels + "}", value);
  }

 private:
  std::string& text_;
  const char* name_;
};

}  // namespace

CampaignProgress progress_of(const CampaignFile& file, const Journal& journal, int64_t now) {
  return ProgressReader(file, journal, now).read();
}

CampaignProgress read_progress(const CampaignPaths& paths, int64_t now, size_t documents) {
  std::error_code failed;
  if (!fs::is_regular_file(paths.campaign(), failed))
    throw UsageError(paths.root.string(), "",
                     "is not a campaign directory: it has no campaign.json");
  const std::string text = read_file(paths.campaign());
  const CampaignFile file = parse_campaign_file(text, paths.campaign().string());
  const Journal journal = read_journal(paths.journal(), chain_root(file, text));
  CampaignProgress out = progress_of(file, journal, now);
  if (documents > 0) add_headlines(out, paths, file, journal, documents);
  return out;
}

std::string progress_metrics(const CampaignProgress& p, std::optional<bool> running, int64_t now) {
  std::string out;
  Gauge(out, "clusterbench_run_info", "Which campaign this is.")
      .add(1, fmt::format("campaign={},profile={}", quoted_label(p.id), quoted_label(p.profile)));
  if (running)
    Gauge(out, "clusterbench_run_active", "1 while a run works in the campaign's directory.")
        .add(*running ? 1 : 0);
  Gauge(out, "clusterbench_run_journal_doubts", "What the journal has that no run has left so.")
      .add(static_cast<double>(p.warnings.size()));
  Gauge(out, "clusterbench_run_finished", "1 when every step has ended.")
      .add(p.finished.empty() ? 0 : 1);
  Gauge(out, "clusterbench_run_updated_timestamp_seconds", "When this was written.")
      .add(static_cast<double>(now));
  if (const auto at = seconds_since_epoch(p.last_event))
    Gauge(out, "clusterbench_run_last_event_timestamp_seconds", "When a job last began or ended.")
        .add(static_cast<double>(*at));
  Gauge(out, "clusterbench_run_elapsed_seconds", "Since the campaign began.")
      .add(p.elapsed_seconds);
  if (p.finished.empty()) {
    Gauge(out, "clusterbench_run_left_seconds", "Estimate, without the steps of unknown length.")
        .add(p.left_seconds);
    Gauge(out, "clusterbench_run_steps_of_unknown_length", "Steps that no estimate covers.")
        .add(static_cast<double>(p.unknown));
  }
  if (p.cycles > 0) {
    Gauge(out, "clusterbench_run_cycle", "Of the soak, from 1.").add(static_cast<double>(p.cycle));
    Gauge(out, "clusterbench_run_cycles", "That the soak has.").add(static_cast<double>(p.cycles));
  }
  Gauge(out, "clusterbench_run_interruptions", "Jobs that ended badly.")
      .add(static_cast<double>(p.interruptions));
  Gauge jobs(out, "clusterbench_run_jobs", "Jobs by step and state.");
  for (const StepProgress& s : p.steps) {
    const std::pair<const char*, size_t> states[] = {
        {"done", s.done},
        {"failed", s.bad},
        {"not-applicable", s.not_applicable},
        {"running", s.running.size()},
        {"waiting",
         s.jobs - std::min(s.jobs, s.done + s.bad + s.not_applicable + s.running.size())}};
    for (const auto& [state, n] : states)
      jobs.add(static_cast<double>(n),
               fmt::format("step={},state=\"{}\"", quoted_label(s.id), state));
  }
  return out;
}

}  // namespace cb
