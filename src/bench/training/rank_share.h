#pragma once

#include <vector>

#include "bench/harness/comm.h"
#include "sys/cpu/affinity.h"

namespace cb::training {

// Collective. CPUs on which threads of this rank may run while all ranks do the same beside a step:
// its own, of those that it was started on (empty: those of this thread); or, where a launcher
// bound each rank to a few, its part of those that this host's ranks may reach together, if that is
// more. A rank alone keeps to its own: a user may have bound it.
std::vector<int> share_of_rank(Comm& comm, const RankMap& place,
                               const std::vector<int>& started_on);

// For its life this thread, and what it starts meanwhile, may run on these CPUs. An empty list
// changes nothing.
class OnAllOfRank {
 public:
  explicit OnAllOfRank(const std::vector<int>& cpus) {
    if (!cpus.empty()) bind_thread(cpus);
  }

 private:
  KeepAffinity keep_;
};

}  // namespace cb::training
