#include "bench/training/rank_share.h"

#include <algorithm>
#include <cstdlib>

#include "bench/cpu/rank_cores.h"
#include "sys/cpu/reachable_cpus.h"

namespace cb::training {
namespace {

// Collective. This rank's part of the CPUs, of the ranks of this host that may use the same ones.
std::vector<int> part_of_cpus(Comm& comm, const RankMap& place, const std::vector<int>& cpus) {
  const OnAllOfRank there(cpus);
  std::vector<int> out;
  for (const Core& core : cores_of_rank(comm, place).cores)
    out.insert(out.end(), core.cpus.begin(), core.cpus.end());
  std::ranges::sort(out);
  return out;
}

}  // namespace

std::vector<int> share_of_rank(Comm& comm, const RankMap& place,
                               const std::vector<int>& started_on) {
  std::vector<int> own = part_of_cpus(comm, place, started_on);
  if (comm.size() == 1) return own;
  // Slurm may keep the jobs of a host apart by binding alone.
  const bool is_slurm = std::getenv("SLURM_JOB_ID") != nullptr;
  std::vector<int> reached = part_of_cpus(comm, place, is_slurm ? started_on : reachable_cpus());
  return reached.size() > own.size() ? reached : own;
}

}  // namespace cb::training
