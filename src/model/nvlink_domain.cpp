#include "model/nvlink_domain.h"

#include <algorithm>
#include <map>
#include <set>

namespace cb {

std::vector<DomainCount> count_domains(const std::vector<DomainSeat>& seats) {
  struct Members {
    uint64_t gpus = 0;
    std::set<int> hosts;
  };
  std::map<std::string, Members> all;
  for (const DomainSeat& seat : seats) {
    if (seat.domain.empty()) continue;
    ++all[seat.domain].gpus;
    all[seat.domain].hosts.insert(seat.host);
  }
  std::vector<DomainCount> out;
  for (const auto& [domain, members] : all) {
    out.push_back({domain, members.gpus, members.hosts.size()});
    if (members.hosts.size() == 1) out.back().only_host = *members.hosts.begin();
  }
  return out;
}

std::optional<DomainShape> domain_shape(const std::vector<DomainSeat>& seats) {
  const bool known =
      std::ranges::none_of(seats, [](const DomainSeat& s) { return s.domain.empty(); });
  const std::vector<DomainCount> all = count_domains(seats);
  if (!known || all.empty()) return std::nullopt;
  const DomainCount& first = all.front();
  const bool alike = std::ranges::all_of(
      all, [&](const DomainCount& d) { return d.gpus == first.gpus && d.hosts == first.hosts; });
  if (!alike || first.hosts < 2) return std::nullopt;
  return DomainShape{all.size(), first.hosts, first.gpus};
}

}  // namespace cb
