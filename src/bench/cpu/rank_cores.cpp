#include "bench/cpu/rank_cores.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "core/error.h"

namespace cb {

std::vector<int> RankCores::cpus(int threads) const {
  std::vector<int> out;
  const size_t wanted = threads > 0 ? static_cast<size_t>(threads) : cores.size();
  size_t deepest = 0;
  for (const Core& c : cores) deepest = std::max(deepest, c.cpus.size());
  for (size_t sibling = 0; sibling < deepest; ++sibling) {
    for (const Core& c : cores) {
      if (sibling < c.cpus.size()) out.push_back(c.cpus[sibling]);
    }
  }
  if (out.size() < wanted)
    throw UsageError(
        "clusterbench", "--threads",
        fmt::format("{} is more than the {} CPUs that this rank may use", wanted, out.size()));
  out.resize(wanted);
  return out;
}

std::vector<Core> divide_cores(const std::vector<Core>& cores, int members, int index) {
  const size_t n = cores.size(), m = static_cast<size_t>(members), i = static_cast<size_t>(index);
  if (n < m) return {cores.at(i % n)};
  const auto at = [&](size_t member) {
    return cores.begin() + static_cast<std::ptrdiff_t>(n * member / m);
  };
  return {at(i), at(i + 1)};
}

std::vector<int> cpus_of_rank(Comm& comm, const RankCores& cores, const Params& params) {
  const int threads = params.has("threads") ? static_cast<int>(params.integer("threads")) : 0;
  std::vector<int> out;
  Problems problems;
  try {
    out = cores.cpus(threads);
  } catch (const UsageError& e) {
    problems = e.problems();
  }
  throw_agreed(comm, "clusterbench", problems);
  return out;
}

RankCores cores_of_rank(Comm& comm, const RankMap& place) {
  RankCores out;
  out.machine = read_machine();
  const std::string mine = cpu_list(allowed_cpus());
  std::string all;
  for (const std::string& mask : comm.gather(mine)) all += mask + "\n";
  std::istringstream lines(comm.broadcast_text(all));
  const auto self = static_cast<size_t>(comm.rank());
  int members = 0, index = 0;
  std::string mask;
  for (size_t rank = 0; std::getline(lines, mask); ++rank) {
    if (place.host_of_rank[rank] != place.host_of_rank[self] || mask != mine) continue;
    if (rank == self) index = members;
    ++members;
  }
  out.cores = divide_cores(out.machine.cores, members, index);
  out.oversubscribed = static_cast<size_t>(members) > out.machine.cores.size();
  return out;
}

}  // namespace cb
