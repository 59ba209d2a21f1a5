#include "bench/collectives/link_rates.h"

#include <algorithm>
#include <map>

#include "model/network_ceiling.h"
#include "model/nvlink_domain.h"

namespace cb {
namespace {

// Where a group's processes are.
struct GroupHosts {
  uint64_t hosts = 0;  // 0 if they have different numbers of its processes
  double share = 1;    // of a host's processes that are the group's, the least of its hosts
  std::optional<DomainShape> domains = {};  // that reach over several hosts
};

GroupHosts hosts_of(const Context& context, const Group& group,
                    const std::vector<std::string>& domain_of_rank) {
  const double mine = context.comm.rank();
  std::vector<double> here(context.place.host_of_rank.size(), 0);
  here[static_cast<size_t>(mine)] = 1;
  here = group.comm.max(here);
  std::map<int, int> count, all;
  std::vector<DomainSeat> seats;
  for (size_t r = 0; r < here.size(); ++r) {
    const int host = context.place.host_of_rank[r];
    ++all[host];
    if (here[r] <= 0) continue;
    ++count[host];
    seats.push_back({host, r < domain_of_rank.size() ? domain_of_rank[r] : ""});
  }
  GroupHosts out{.domains = domain_shape(seats)};
  const int first = count.begin()->second;
  bool equal = true;
  for (const auto& [host, ranks] : count) {
    equal = equal && ranks == first;
    out.share = std::min(out.share, static_cast<double>(ranks) / all.at(host));
  }
  out.hosts = equal ? count.size() : 0;
  return out;
}

}  // namespace

double host_network_rate(const HostInventory& inventory) {
  double bits = 0;
  for (const Part* port : inventory.all("rdma")) {
    const auto rate = number_of(port, "rate_bits_per_second");
    if (!rate) continue;
    const auto link = text_of(port, "link");
    bits += link ? infiniband_data_bits_per_second(*rate, *link) : *rate;
  }
  return bits / 8;
}

LinkRates collective_wires(Context& context, const Group& group, int ranks, double gpu_link,
                           bool nvls_possible, const std::vector<std::string>& domain_of_rank) {
  const double network = context.comm.min(host_network_rate(context.inventory));
  const double link = context.comm.min(gpu_link);
  const GroupHosts where = hosts_of(context, group, domain_of_rank);
  LinkRates out{.ranks = static_cast<uint64_t>(ranks), .hosts = std::max<uint64_t>(1, where.hosts)};
  if (where.hosts == 0) return out;
  double ports = network * where.share;
  if (where.domains) {
    out.hosts = where.domains->domains;
    out.domains = true;
    ports *= static_cast<double>(where.domains->hosts_each);
  }
  if (ports > 0) out.host_network = ports;
  if (link > 0) out.gpu_link = link;
  out.nvls_possible = nvls_possible && link > 0;
  return out;
}

std::optional<Ceiling> point_ceiling(const CollectivePoint& point, CollectiveAlgorithm algorithm,
                                     const LinkRates& wires) {
  const auto ceiling = collective_ceiling(point.collective, algorithm, wires);
  if (!ceiling) return std::nullopt;
  return Ceiling{ceiling->bytes_per_second, ceiling->how};
}

void note_above_wire(Record& record, const CollectivePoint& point, const LinkRates& wires) {
  for (const Metric& m : record.metrics) {
    if (m.name != "bus_bytes_per_second") continue;
    const Said why = explain_above_wire(point.collective, m.samples.summary().median, wires);
    if (!why.empty()) record.notes.push_back(why);
  }
}

}  // namespace cb
