// What a soak has shown: how long it ran, what happened in it, and what changed over time. Pure:
// docs/methods/soak.md.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/profile_soak.h"
#include "judge/campaign_data.h"

namespace cb {

// Something that happened during the soak.
struct SoakEvent {
  std::string at;  // ISO 8601, UTC; for a counter the end of the record that saw it grow
  size_t cycle = 0;
  std::string step;
  Entity entity;
  const EventKind* kind = nullptr;
  EventClass cls = EventClass::defect;  // the kind's, or that of the cause
  Said what;
  double count = 1;         // how much a counter grew
  Said cause = {};          // of an interruption: what happened on the same host around then
  bool interrupts = false;  // a job of the soak ended badly, and not by this program's doing
};

// True if the job was ended by the cluster: neither by this program's own refusal nor because the
// campaign was stopped.
bool interrupts(const Interruption& interruption);

// In the order of time. Counts what every cycle's records and the journal say; a counter that
// several steps read counts once.
std::vector<SoakEvent> soak_events(const Campaign& campaign);

// Counted on some hosts and logged by the kernel on all: a host whose log was read was looked at.
bool is_logged_too(const EventKind& kind);

// The kinds of events that somebody looked for, by the host's own name: counters that its records
// hold, and a kernel log that could be read. "" has what the journal tells of every host.
enum class Watch { any_cycle, last_cycle };  // last: that of each step, and the reading after it
std::map<std::string, std::set<std::string>> observed_kinds(const Campaign& campaign,
                                                            Watch when = Watch::any_cycle);

// One cycle: all its jobs together.
struct SoakCycle {
  size_t number = 0;
  std::string started, ended;
  size_t done = 0, bad = 0, missing = 0;  // numbers of jobs
  size_t made_up = 0;                     // jobs that ended well after the fact, in none of these
  double seconds = 0;                     // under load: the rounds' lengths together
};

struct SoakTime {
  std::vector<SoakCycle> cycles;  // those of which anything ran
  double cluster_seconds = 0;     // under load; time between rounds does not count
  double host_seconds = 0;        // the same, summed over the hosts of each job
  size_t jobs = 0, missing = 0;   // planned, and never run
  size_t made_up = 0;
};
// Without the reading after the last cycle, and without the time of what was made up.
SoakTime soak_time(const Campaign& campaign);

// A host that made up for cycles which it did not soak with the others.
struct MadeUp {
  std::string host;    // as it was asked for
  size_t soaked = 0;   // number of cycles that it ran with the others, at least one job of them
  size_t made_up = 0;  // number of cycles of which a job ran after the fact
  double seconds = 0;  // that the jobs after the fact took, summed
};
std::vector<MadeUp> made_up_cycles(const Campaign& campaign);

// Until when somebody watched: the reading after the last cycle, of the hosts that take part.
struct LastReading {
  bool planned = false;     // a step of the soak reads
  std::string at;           // when it had ended on all hosts that were read; the first of them
  std::string loads_ended;  // when the last load of the soak ended
  std::vector<const Job*>
      open;  // readings that are missing, did not end well, or came before a load
};
LastReading last_reading(const Campaign& campaign);
// "cycle 5", or "the last reading".
Message soak_cycle_name(const Campaign& campaign, size_t cycle);

// The mean time between interruptions, if they come as a Poisson process: the time over the number,
// with exact one-sided bounds (core/poisson.h).
struct MeanTime {
  uint64_t interruptions = 0;
  double seconds = 0;
  double lower = 0;                       // seconds; proved with the confidence
  std::optional<double> estimate, upper;  // seconds; nothing without an interruption
};
MeanTime mean_time(uint64_t interruptions, double seconds, double confidence);

// How much longer, in seconds, without a further interruption, until the lower bound reaches
// `wanted`.
double seconds_to_prove(const MeanTime& time, double wanted, double confidence);

// A figure of one entity over the cycles.
struct SoakSeries {
  std::string step;
  Params params;
  std::string metric, unit;
  Better better = Better::higher;
  Entity entity;
  std::vector<double> seconds;  // since the soak's first record
  std::vector<double> values;   // median of each cycle's samples
};
// One series for each step, point, metric and entity with two cycles at least. With `rule` only the
// one that it selects, of `step`.
std::vector<SoakSeries> soak_series(const Campaign& campaign, const SoakRule* rule = nullptr,
                                    const std::string& step = "");

struct Decay {
  double median = 0;
  double loss_per_day = 0;                        // share of the median; negative: it became better
  double loss = 0;                                // the same from the first to the last cycle
  std::optional<std::array<double, 2>> interval;  // of `loss`; nothing with too few cycles
  std::optional<double> variation;                // standard deviation over mean
  std::optional<double> last_to_first;  // mean of the last tenth over that of the first; needs 10
};
// By Theil and Sen. Nothing if all cycles have one time, or the median is 0.
std::optional<Decay> decay_of(const SoakSeries& series, double confidence);

}  // namespace cb
