#pragma once

#include <string>
#include <vector>

#include "bench/harness/comm.h"
#include "core/params.h"
#include "sys/cpu/numa.h"

namespace cb {

// The cores that one rank measures with.
struct RankCores {
  std::vector<Core> cores;
  bool oversubscribed = false;  // ranks of this host share cores
  Machine machine;              // of which they are a part

  // One CPU a thread: the first of each core, then the second of each (SMT); `threads` 0: one a
  // core. Throws UsageError if there are fewer CPUs than threads.
  std::vector<int> cpus(int threads) const;
};

// The part of `cores` that falls to member `index` of `members` that share them: contiguous and as
// even as can be; where there are fewer cores than members, one core each in turn.
std::vector<Core> divide_cores(const std::vector<Core>& cores, int members, int index);

// Collective. CPUs for the rank's threads (--threads, else one a core); UsageError on every rank if
// one of them has too few.
std::vector<int> cpus_of_rank(Comm& comm, const RankCores& cores, const Params& params);

// Collective. Ranks of a host with the same affinity mask (none bound: all of them) divide its
// cores, a rank bound by its launcher keeps its own.
RankCores cores_of_rank(Comm& comm, const Place& place);

}  // namespace cb
