// How long a soak ran, and what that proves.
#include <algorithm>
#include <map>

#include "core/clock.h"
#include "core/poisson.h"
#include "core/profile_soak.h"
#include "judge/soak.h"

namespace cb {
namespace {

struct Span {
  int64_t begin = 0, end = 0;
};

std::optional<Span> span_of(const std::string& started, const std::string& ended) {
  const auto begin = seconds_since_epoch(started), end = seconds_since_epoch(ended);
  if (!begin || !end || *end < *begin) return std::nullopt;
  return Span{*begin, *end};
}

// The attempts of a job whose end somebody saw: their time was under load.
std::vector<Span> spans_of(const Job& job) {
  std::vector<Span> out;
  for (const Interruption& i : job.interruptions) {
    if (const auto span = span_of(i.started, i.ended); span && i.state != JobState::missing)
      out.push_back(*span);
  }
  if (job.state != JobState::done) return out;
  if (const auto span = span_of(job.started, job.ended)) out.push_back(*span);
  return out;
}

void widen(SoakCycle& cycle, const Job& job) {
  if (!job.started.empty() && (cycle.started.empty() || job.started < cycle.started))
    cycle.started = job.started;
  cycle.ended = std::max(cycle.ended, job.ended);
}

// The time that the spans cover together: they overlap where hosts run at the same time.
double covered(std::vector<Span> spans) {
  std::ranges::sort(spans, {}, &Span::begin);
  int64_t out = 0, reached = 0;
  for (const Span& s : spans) {
    const int64_t begin = std::max(s.begin, reached);
    if (s.end > begin) out += s.end - begin;
    reached = std::max(reached, s.end);
  }
  return static_cast<double>(out);
}

}  // namespace

SoakTime soak_time(const Campaign& campaign) {
  SoakTime out;
  std::map<size_t, SoakCycle> cycles;
  std::map<size_t, std::vector<Span>> spans;
  for (const Job& job : campaign.jobs) {
    if (job.cycle == 0 || job.state == JobState::not_applicable) continue;
    if (is_last_reading(campaign.profile, job.cycle)) continue;
    ++out.jobs;
    SoakCycle& cycle = cycles[job.cycle];
    cycle.number = job.cycle;
    if (job.state == JobState::missing) {
      ++out.missing;
      ++cycle.missing;
    } else if (job.made_up && job.state == JobState::done) {
      ++out.made_up;
      ++cycle.made_up;
    } else {
      ++(job.state == JobState::done ? cycle.done : cycle.bad);
      if (!job.made_up) widen(cycle, job);
    }
    if (job.made_up) continue;
    const size_t hosts = !job.host.empty()      ? 1
                         : !job.members.empty() ? job.members.size()
                         : job.document         ? job.document->run.hosts.size()
                                                : campaign.hosts.size();
    for (const Span& s : spans_of(job)) {
      spans[job.cycle].push_back(s);
      out.host_seconds += static_cast<double>(s.end - s.begin) * static_cast<double>(hosts);
    }
  }
  for (auto& [number, cycle] : cycles) {
    if (cycle.done + cycle.bad == 0) continue;
    cycle.seconds = covered(std::move(spans[number]));
    out.cluster_seconds += cycle.seconds;
    out.cycles.push_back(std::move(cycle));
  }
  return out;
}

MeanTime mean_time(uint64_t interruptions, double seconds, double confidence) {
  MeanTime out{.interruptions = interruptions, .seconds = seconds};
  out.lower = seconds / poisson_upper(interruptions, confidence);
  if (interruptions == 0) return out;
  out.estimate = seconds / static_cast<double>(interruptions);
  out.upper = seconds / poisson_lower(interruptions, confidence);
  return out;
}

double seconds_to_prove(const MeanTime& time, double wanted, double confidence) {
  return std::max(0.0, wanted * poisson_upper(time.interruptions, confidence) - time.seconds);
}

}  // namespace cb
