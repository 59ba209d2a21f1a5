// A soak's cycles while a campaign runs: when the next one begins, and which are over.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "campaign/journal.h"
#include "campaign/plan.h"
#include "core/profile.h"

namespace cb {

struct JobOutcome;

// True if this is the end of a cycle's job that no later run repeats: an interruption is what the
// soak looks for, and a repetition days later would be another cycle. What the user or another
// program stopped from outside is repeated. `last` may be null.
bool is_over(const JobEvent* last, const std::string& fingerprint);

// Gives a job its cycle and, in a soak, the attempts that ended badly.
void fill_cycle(Job& job, const JobKey& key, const Journal& journal);

// Marks what was made up for after the fact: a round that had begun before the host that ran it
// stepped in, or came back. Of a job across several hosts any host counts.
void mark_made_up(const std::vector<JobKey>& keys, const Journal& journal, std::vector<Job>& jobs);

// True if a load of the soak began after the last reading had: the reading tells nothing of it.
bool is_outdated_reading(const std::string& reading, size_t cycles, const Journal& journal);

// Keeps the distance between the beginnings of cycles, so that the evidence is hourly and a failing
// step does not use up the cycles in a minute.
class CyclePace {
 public:
  CyclePace(const std::optional<Soak>& soak, std::function<int()> stop_signals,
            std::function<void(double)> resting);

  // Cycles before this one had begun in an earlier session: what is made up for in them waits for
  // nothing.
  void begun_before(size_t cycle) { floor_ = cycle > 0 ? cycle - 1 : 0; }
  // Waits, if `cycle` is a new one and the one before it ran in this session, until Soak::
  // every_seconds after that one's beginning. Returns early after a stop signal. The last reading
  // waits for nothing.
  void wait_for(size_t cycle);
  // Takes note of whether the round ran or was kept from an earlier session.
  void ran(size_t cycle, const std::vector<JobOutcome>& outcomes);

 private:
  double every_ = 0;
  size_t cycles_ = 0;
  std::function<int()> stop_signals_;
  std::function<void(double)> resting_;
  size_t current_ = 0;  // the highest cycle of this session
  size_t floor_ = 0;
  double began_ = 0;
  bool fresh_ = false;  // something of the current cycle ran in this session
};

}  // namespace cb
