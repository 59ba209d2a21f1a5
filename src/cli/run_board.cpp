#include "cli/run_board.h"

#include <algorithm>
#include <ctime>
#include <iostream>

#include <fmt/format.h>
#include <unistd.h>

#include "campaign/headline.h"
#include "campaign/roster.h"
#include "cli/board_lines.h"
#include "cli/progress_text.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/file.h"
#include "core/profile_soak.h"
#include "core/text.h"
#include "core/units.h"

namespace cb {
namespace {

constexpr double kDrawSeconds = 1, kWriteSeconds = 10, kEstimateSeconds = 5;
constexpr double kCheap = 50;        // reading the journal may take a fiftieth of the time
constexpr size_t kBoardHosts = 8;    // lines about jobs that run
constexpr size_t kMaxFigures = 256;  // documents kept for the worst figure so far

int64_t seconds_now() { return static_cast<int64_t>(std::time(nullptr)); }

}  // namespace

RunBoard::RunBoard(const RunSetup& setup, bool terminal, std::string prometheus)
    : setup_(setup), terminal_(terminal), prometheus_(std::move(prometheus)) {}

RunBoard::~RunBoard() { clear(); }

void RunBoard::count_hosts() {
  hosts_.clear();
  for (const JobKey& key : campaign_jobs(setup_.campaign, roster_so_far(setup_))) {
    if (StepRound{key.step, key.cycle} == round_) hosts_[key.name] = key.label();
  }
  jobs_ = hosts_.size();
}

void RunBoard::round_begins(const StepRound& round) {
  round_ = round;
  ended_ = bad_ = 0;
  resting_until_ = 0;
  shown_ = true;
  running_.clear();
  documents_.clear();
  if (terminal_) count_hosts();
  tick();
}

void RunBoard::round_ends() {
  clear();
  shown_ = false;
}

void RunBoard::job_changes(const JobEvent& event) {
  if (!event.ended) {
    running_[event.job] = monotonic_seconds();
  } else {
    running_.erase(event.job);
    ++ended_;
    bad_ += event.state == JobState::done ? 0 : 1;
    if (terminal_) take_figures(event);
  }
  tick();
}

void RunBoard::take_figures(const JobEvent& event) {
  if (event.file.empty() || documents_.size() >= kMaxFigures) return;
  try {
    documents_.push_back(
        parse_document(read_file(setup_.paths.root / event.file), event.file, false));
  } catch (const Error&) {
    return;  // the step's own line says what is wrong with it
  }
}

void RunBoard::rests(double seconds) {
  resting_until_ = monotonic_seconds() + seconds;
  shown_ = true;
}

void RunBoard::tick() {
  const double now = monotonic_seconds();
  if (terminal_ && shown_ && now - drawn_at_ >= kDrawSeconds) draw();
  if (!prometheus_.empty() && now - written_at_ >= std::max(kWriteSeconds, kCheap * estimate_cost_))
    write_metrics(true);
}

void RunBoard::draw() {
  const double now = monotonic_seconds();
  drawn_at_ = now;
  if (now - estimated_at_ >= std::max(kEstimateSeconds, kCheap * estimate_cost_)) {
    left_ = left_text(read_progress(setup_.paths, seconds_now(), 0));
    estimated_at_ = monotonic_seconds();
    estimate_cost_ = estimated_at_ - now;
  }
  const Step& step = setup_.campaign.profile.steps.at(round_.step);
  std::string head =
      fmt::format("   {} … {} of {} jobs", pad_right(terminal_safe(step.id), 24), ended_, jobs_);
  if (bad_ > 0) head += fmt::format(", {} not done", bad_);
  if (is_last_reading(setup_.campaign.profile, round_.cycle))
    head += " · last reading of the soak";
  else if (round_.cycle > 0)
    head += fmt::format(" · cycle {} of {}", round_.cycle, setup_.campaign.profile.soak->cycles());
  if (resting_until_ > now)
    head += fmt::format(" · the next cycle begins in {}", format_seconds(resting_until_ - now));
  if (!left_.empty()) head += " · " + left_;
  std::vector<std::string> lines{head};
  StepProgress running;
  for (const auto& [job, began] : running_)
    running.running.push_back({hosts_[job], "", now - began});
  for (const std::string& line : running_lines(running, kBoardHosts))
    lines.push_back("      " + line);
  std::vector<const Document*> all;
  for (const Document& d : documents_) all.push_back(&d);
  if (!all.empty())
    lines.push_back("      worst so far: " +
                    headline(all, metric_rules(setup_.campaign.profile, step.id)));
  clear();
  for (const std::string& line : fit_lines(lines, terminal_size(STDERR_FILENO))) {
    std::cerr << line << "\n";
    widths_.push_back(display_width(line));
  }
  std::cerr << std::flush;
}

void RunBoard::clear() {
  if (widths_.empty()) return;
  const size_t rows = rows_of(widths_, terminal_size(STDERR_FILENO).columns);
  std::cerr << fmt::format("\033[{}A\r\033[J", rows) << std::flush;
  widths_.clear();
}

void RunBoard::write_metrics(bool active) {
  const double begin = monotonic_seconds();
  written_at_ = begin;
  const int64_t now = seconds_now();
  const CampaignProgress progress = read_progress(setup_.paths, now, 0);
  estimate_cost_ = std::max(estimate_cost_, monotonic_seconds() - begin);
  try {
    write_file_atomically(prometheus_, progress_metrics(progress, active, now), Durable::no);
  } catch (const Error& e) {
    warn_once(e.what());
  }
}

// What watches a campaign must not end it: the file is tried again with the next change.
void RunBoard::warn_once(const std::string& why) {
  if (warned_) return;
  warned_ = true;
  clear();
  std::cerr << "clusterbench run: --prom: " << terminal_safe(why) << ": the campaign goes on\n";
}

void RunBoard::finish() {
  clear();
  if (!prometheus_.empty()) write_metrics(false);
}

}  // namespace cb
