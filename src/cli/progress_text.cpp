#include "cli/progress_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/text.h"
#include "core/units.h"

namespace cb {
namespace {

constexpr size_t kRunningHosts = 4;  // of a step, in the table

const char* mark_of(const StepProgress& s) {
  if (!s.running.empty()) return "…";
  if (s.bad > 0) return "✗";
  if (s.done + s.not_applicable == s.jobs) return s.done == 0 ? "–" : "✓";
  return " ";
}

std::string figure_of(const StepProgress& s) {
  if (s.not_applicable == s.jobs) return "not applicable";
  if (s.jobs_seen == 0) return "waiting";
  if (!s.last_problem.empty() && s.headline.empty()) return terminal_safe(s.last_problem);
  return s.headline;
}

}  // namespace

std::string left_text(const CampaignProgress& p) {
  if (!p.finished.empty()) return "";
  if (p.unknown == 0) return fmt::format("about {} left", format_seconds(p.left_seconds));
  const std::string unknown =
      fmt::format("{} step{} of unknown length", p.unknown, p.unknown == 1 ? "" : "s");
  if (p.left_seconds <= 0) return unknown + " left";
  return fmt::format("at least {} left ({})", format_seconds(p.left_seconds), unknown);
}

std::vector<std::string> running_lines(const StepProgress& step, size_t lines) {
  std::vector<RunningJob> running = step.running;
  std::ranges::stable_sort(running, std::greater<>(), &RunningJob::seconds);
  std::vector<std::string> out;
  for (const RunningJob& job : running) {
    if (out.size() == lines) break;
    out.push_back(fmt::format("{} {}", job.host.empty() ? "all hosts" : terminal_safe(job.host),
                              format_seconds(job.seconds)));
  }
  if (running.size() > out.size())
    out.push_back(fmt::format("and {} more", running.size() - out.size()));
  return out;
}

std::string progress_table(const CampaignProgress& p) {
  std::string out;
  for (const StepProgress& s : p.steps) {
    out += fmt::format("   {} {} {} of {}", pad_right(terminal_safe(s.id), 24), mark_of(s), s.done,
                       s.jobs - s.not_applicable);
    if (s.bad > 0) out += fmt::format(", {} not done", s.bad);
    const std::string figure = figure_of(s);
    if (!figure.empty()) out += "  " + figure;
    std::string running;
    for (const std::string& line : running_lines(s, kRunningHosts))
      running += (running.empty() ? "" : ", ") + line;
    out += (running.empty() ? "" : "  running: " + running) + "\n";
  }
  if (p.cycles > 0) out += fmt::format("cycle {} of {} of the soak\n", p.cycle, p.cycles);
  const std::string left = left_text(p);
  out += p.finished.empty() ? fmt::format("began {}, {} ago; {}\n", p.started,
                                          format_seconds(p.elapsed_seconds), left)
                            : fmt::format("began {}, finished {}\n", p.started, p.finished);
  return out;
}

}  // namespace cb
