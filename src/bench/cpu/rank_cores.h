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
  bool oversubscribed = false;  // true if ranks of this host share cores
  Machine machine;              // the whole machine that `cores` belong to

  // One CPU per thread: first the first CPU of each core, then the second of each (SMT). `threads`
  // 0: one per core. Throws UsageError if there are fewer CPUs than threads.
  std::vector<int> cpus(int threads) const;
};

// The part of `cores` that member `index` of `members` gets: contiguous and as even as possible. If
// there are fewer cores than members, each member gets one core in turn.
std::vector<Core> divide_cores(const std::vector<Core>& cores, int members, int index);

// CPUs for the rank's threads (--threads, else one per core). Throws UsageError on every rank if
// one of them has too few. Collective.
std::vector<int> cpus_of_rank(Comm& comm, const RankCores& cores, const Params& params);

// Ranks of a host that have the same affinity mask divide its cores; if none is bound, these are
// all ranks. A rank bound by its launcher keeps its own cores. Collective.
RankCores cores_of_rank(Comm& comm, const RankMap& place);

}  // namespace cb
