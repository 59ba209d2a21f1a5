#include "model/collective_ceiling.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"

namespace cb {
namespace {

bool uses_nvlink_switch(CollectiveAlgorithm a) {
  return a == CollectiveAlgorithm::nvls || a == CollectiveAlgorithm::nvls_tree ||
         a == CollectiveAlgorithm::any;
}

bool uses_network_switches(CollectiveAlgorithm a) {
  return a == CollectiveAlgorithm::nvls || a == CollectiveAlgorithm::in_network ||
         a == CollectiveAlgorithm::any;
}

// The best way between hosts that the algorithm allows.
CollectiveAlgorithm between_hosts(CollectiveAlgorithm a) {
  if (a == CollectiveAlgorithm::ring) return a;
  return uses_network_switches(a) ? CollectiveAlgorithm::in_network
                                  : CollectiveAlgorithm::hierarchical;
}

const char* network_id(CollectiveAlgorithm a) {
  if (a == CollectiveAlgorithm::in_network) return "coll.per_host_switch";
  return a == CollectiveAlgorithm::hierarchical ? "coll.per_host_inside" : "coll.per_host";
}

// The best way inside a host that the algorithm and the links allow.
CollectiveAlgorithm inside_host(Collective collective, CollectiveAlgorithm a, const LinkRates& w) {
  if (collective != Collective::all_reduce) return CollectiveAlgorithm::ring;
  if (w.nvls_possible && uses_nvlink_switch(a)) return CollectiveAlgorithm::nvls;
  return uses_network_switches(a) ? CollectiveAlgorithm::in_network : CollectiveAlgorithm::ring;
}

Quantity rate(double bytes_per_second) { return {bytes_per_second, "bytes_per_second"}; }

// Rate of the slowest wire that every byte of a ring crosses.
std::optional<double> ring_wire(const LinkRates& w) {
  std::optional<double> out;
  if (w.hosts > 1 && w.host_network) out = w.host_network;
  if (w.gpu_link && w.ranks > w.hosts) out = out ? std::min(*out, *w.gpu_link) : *w.gpu_link;
  return out;
}

}  // namespace

std::optional<double> network_bus_ceiling(Collective collective, CollectiveAlgorithm algorithm,
                                          uint64_t ranks, uint64_t hosts,
                                          double host_bytes_per_second) {
  if (hosts < 2 || ranks < hosts || ranks % hosts != 0) return std::nullopt;
  const auto n = static_cast<double>(ranks), k = static_cast<double>(hosts);
  const double g = n / k;
  switch (collective) {
    case Collective::alltoall:
    case Collective::alltoallv:
      return host_bytes_per_second / g * (n - 1) / (n - g);
    case Collective::gather:
    case Collective::scatter:
      return host_bytes_per_second * (n - 1) / (n - g);
    case Collective::all_reduce:
      if (algorithm == CollectiveAlgorithm::ring) return host_bytes_per_second;
      if (uses_network_switches(algorithm)) return host_bytes_per_second * 2 * (n - 1) / n;
      return host_bytes_per_second * ((n - 1) / n) / ((k - 1) / k);
    case Collective::pingpong:
    case Collective::pair_one_way:
    case Collective::pair_two_way:
      if (hosts % 2 != 0) return std::nullopt;  // with an odd number, some pairs stay on one host
      return host_bytes_per_second / g;
    default:
      return host_bytes_per_second;
  }
}

std::optional<double> link_bus_ceiling(Collective collective, CollectiveAlgorithm algorithm,
                                       uint64_t ranks, uint64_t hosts,
                                       double link_bytes_per_second) {
  if (ranks < 2 || hosts == 0 || ranks <= hosts) return std::nullopt;
  const auto n = static_cast<double>(ranks), g = n / static_cast<double>(hosts);
  if (collective == Collective::all_reduce && algorithm == CollectiveAlgorithm::nvls)
    return link_bytes_per_second * 2 * (n - 1) / (n + 1);
  if (collective == Collective::all_reduce && algorithm == CollectiveAlgorithm::in_network)
    return link_bytes_per_second * ((n - 1) / n) * g / (g - 1);
  return link_bytes_per_second;
}

std::optional<CollectiveCeiling> collective_ceiling(Collective collective,
                                                    CollectiveAlgorithm algorithm,
                                                    const LinkRates& w) {
  std::optional<CollectiveCeiling> out;
  const auto lower = [&](const std::optional<double>& value, const Said& how) {
    if (value && (!out || *value < out->bytes_per_second)) out = CollectiveCeiling{*value, how};
  };
  if (w.gpu_link && w.ranks > w.hosts) {
    const CollectiveAlgorithm inside = inside_host(collective, algorithm, w);
    lower(link_bus_ceiling(collective, inside, w.ranks, w.hosts, *w.gpu_link),
          said(inside == CollectiveAlgorithm::nvls ? "coll.per_gpu_switch" : "coll.per_gpu",
               rate(*w.gpu_link)));
  }
  if (w.host_network && w.hosts > 1) {
    const CollectiveAlgorithm between =
        collective == Collective::all_reduce ? between_hosts(algorithm) : CollectiveAlgorithm::ring;
    lower(network_bus_ceiling(collective, between, w.ranks, w.hosts, *w.host_network),
          said(network_id(between), rate(*w.host_network), w.hosts));
  }
  return out;
}

Said explain_above_wire(Collective collective, double bus, const LinkRates& w) {
  const auto wire = ring_wire(w);
  if (collective != Collective::all_reduce || !wire || bus <= *wire) return {};
  return said("coll.above_wire", rate(bus), rate(*wire));
}

CollectiveAlgorithm algorithm_of(const std::string& name) {
  if (name == "ring") return CollectiveAlgorithm::ring;
  if (name == "nvls") return CollectiveAlgorithm::nvls;
  if (name == "nvls_tree") return CollectiveAlgorithm::nvls_tree;
  if (name == "collnet_direct" || name == "collnet_chain") return CollectiveAlgorithm::in_network;
  if (name == "tree" || name == "pat") return CollectiveAlgorithm::hierarchical;
  return CollectiveAlgorithm::any;
}

}  // namespace cb
