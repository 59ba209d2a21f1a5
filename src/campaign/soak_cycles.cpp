#include "campaign/soak_cycles.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "campaign/run.h"
#include "core/clock.h"
#include "core/units.h"

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

using RoundKey = std::pair<size_t, size_t>;  // index of the step, cycle

// When each round of the soak began, whoever ran it first.
std::map<RoundKey, std::string> begins_of_rounds(const std::vector<JobKey>& keys,
                                                 const Journal& journal) {
  std::map<RoundKey, std::string> out;
  for (const JobKey& key : keys) {
    const auto events = journal.jobs.find(key.name);
    if (key.cycle == 0 || events == journal.jobs.end()) continue;
    const auto start = std::ranges::find(events->second, false, &JobEvent::ended);
    if (start == events->second.end()) continue;
    std::string& begin = out[{key.step, key.cycle}];
    if (begin.empty() || start->at < begin) begin = start->at;
  }
  return out;
}

// When each host stepped in or came back, in the order of time. "" has the times of all.
std::map<std::string, std::vector<std::string>> arrivals_of(const Journal& journal) {
  std::map<std::string, std::vector<std::string>> out;
  for (const RosterEvent& e : journal.roster) {
    const std::string& host = e.back ? e.out.host : e.out.by;
    if (host.empty()) continue;
    out[host].push_back(e.out.at);
    out[""].push_back(e.out.at);
  }
  return out;
}

bool has_load_after(const std::string& job, const std::vector<JobEvent>& events, size_t cycles,
                    const std::string& at) {
  const size_t mark = job.find('~');
  if (mark == std::string::npos) return false;
  const auto cycle = parse_integer(job.substr(mark + 1, job.find('@', mark) - mark - 1));
  if (!cycle || *cycle > static_cast<int64_t>(cycles)) return false;
  return std::ranges::any_of(events, [&](const JobEvent& e) { return !e.ended && e.at > at; });
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

void mark_made_up(const std::vector<JobKey>& keys, const Journal& journal, std::vector<Job>& jobs) {
  const auto arrivals = arrivals_of(journal);
  if (arrivals.empty()) return;
  const auto begins = begins_of_rounds(keys, journal);
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto begin = begins.find({keys[i].step, keys[i].cycle});
    const auto times = arrivals.find(keys[i].host);
    const JobEvent* start = journal.last_start(keys[i].name);
    if (begin == begins.end() || times == arrivals.end() || start == nullptr) continue;
    jobs[i].made_up = std::ranges::any_of(times->second, [&](const std::string& at) {
      return begin->second <= at && at <= start->at;
    });
  }
}

bool is_outdated_reading(const std::string& reading, size_t cycles, const Journal& journal) {
  const JobEvent* start = journal.last_start(reading);
  return start != nullptr && std::ranges::any_of(journal.jobs, [&](const auto& job) {
           return has_load_after(job.first, job.second, cycles, start->at);
         });
}

CyclePace::CyclePace(const std::optional<Soak>& soak, std::function<int()> stop_signals,
                     std::function<void(double)> resting)
    : every_(soak ? soak->every_seconds : 0),
      cycles_(soak ? soak->cycles() : 0),
      stop_signals_(std::move(stop_signals)),
      resting_(std::move(resting)) {}

void CyclePace::wait_for(size_t cycle) {
  if (cycle <= std::max(current_, floor_) || cycle > cycles_) return;
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
