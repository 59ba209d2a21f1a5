#include "bench/cpu/burn/cpus.h"

#include <map>
#include <sstream>

#include "sys/cpu/affinity.h"

namespace cb {

std::vector<std::vector<int>> divide_cpus(const std::vector<std::vector<int>>& masks) {
  std::map<int, std::vector<size_t>> ranks_of;  // key: CPU
  for (size_t rank = 0; rank < masks.size(); ++rank) {
    for (const int cpu : masks[rank]) ranks_of[cpu].push_back(rank);
  }
  std::vector<std::vector<int>> out(masks.size());
  for (const auto& [cpu, ranks] : ranks_of) {
    size_t chosen = ranks.front();
    for (const size_t rank : ranks) {
      if (out[rank].size() < out[chosen].size()) chosen = rank;
    }
    out[chosen].push_back(cpu);
  }
  return out;
}

std::vector<int> cpus_of_this_rank(const Context& context) {
  std::string mine;
  for (const int cpu : allowed_cpus()) mine += std::to_string(cpu) + " ";
  std::string joined;
  for (const std::string& mask : context.comm.gather(mine)) joined += mask + "\n";
  std::istringstream lines(context.comm.broadcast_text(std::move(joined)));

  const auto& hosts = context.place.host_of_rank;
  const int own_host = hosts[static_cast<size_t>(context.comm.rank())];
  std::vector<std::vector<int>> masks;  // one per rank of this host
  std::string line;
  for (size_t rank = 0; std::getline(lines, line); ++rank) {
    if (hosts[rank] != own_host) continue;
    std::istringstream numbers(line);
    masks.emplace_back();
    for (int cpu = 0; numbers >> cpu;) masks.back().push_back(cpu);
  }
  return divide_cpus(masks)[static_cast<size_t>(context.place.local_rank)];
}

}  // namespace cb
