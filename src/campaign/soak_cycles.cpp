#include "campaign/soak_cycles.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "campaign/run.h"
#include "core/clock.h"

namespace cb {
namespace {

constexpr const char* kFromOutside = "end.interrupted_outside";

// An attempt without an end is one that its run did not outlive.
void add_interruption(Job& job, const JobEvent* start, const JobEvent* end) {
  Interruption out{.attempt = start != nullptr ? start->attempt : end->attempt,
                   .state = JobState::missing,
                   .reason = said("end.interrupted")};
  if (start != nullptr) out.started = start->at;
  if (end != nullptr) {
    if (end->state == JobState::done || end->state == JobState::not_applicable) return;
    const bool outside = end->reason.message().id == kFromOutside;
    out.state = outside ? JobState::missing : end->state;
    out.reason = end->reason;
    out.ended = end->at;
  }
  job.interruptions.push_back(std::move(out));
}

}  // namespace

bool is_over(const JobEvent* last, const std::string& fingerprint) {
  if (last == nullptr || !last->ended || last->fingerprint != fingerprint) return false;
  const bool bad = last->state == JobState::failed || last->state == JobState::deadline;
  return bad && last->reason.message().id != kFromOutside;
}

void fill_cycle(Job& job, const JobKey& key, const Journal& journal) {
  job.cycle = key.cycle;
  const auto events = journal.jobs.find(key.name);
  if (key.cycle == 0 || events == journal.jobs.end()) return;
  const JobEvent* start = nullptr;
  for (const JobEvent& event : events->second) {
    if (!event.ended) {
      if (start != nullptr) add_interruption(job, start, nullptr);
      start = &event;
    } else if (start != nullptr) {  // an end without a start never ran
      add_interruption(job, start, &event);
      start = nullptr;
    }
  }
  if (start != nullptr) add_interruption(job, start, nullptr);
}

CyclePace::CyclePace(const std::optional<Soak>& soak, std::function<int()> stop_signals,
                     std::function<void(double)> resting)
    : every_(soak ? soak->every_seconds : 0),
      stop_signals_(std::move(stop_signals)),
      resting_(std::move(resting)) {}

void CyclePace::wait_for(size_t cycle) {
  if (cycle == 0 || cycle == current_) return;
  const double until = began_ + every_;
  if (fresh_ && until > monotonic_seconds()) resting_(until - monotonic_seconds());
  while (fresh_ && monotonic_seconds() < until && stop_signals_() == 0)
    std::this_thread::sleep_for(
        std::chrono::duration<double>(std::clamp(until - monotonic_seconds(), 0.0, 0.1)));
  current_ = cycle;
  began_ = monotonic_seconds();
  fresh_ = false;
}

void CyclePace::ran(size_t cycle, const std::vector<JobOutcome>& outcomes) {
  if (cycle == current_ &&
      std::ranges::any_of(outcomes, [](const JobOutcome& o) { return !o.kept; }))
    fresh_ = true;
}

}  // namespace cb
