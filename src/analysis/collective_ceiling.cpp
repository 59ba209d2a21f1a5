#include "analysis/collective_ceiling.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"

namespace cb {
namespace {

bool allows(CollectiveAlgorithm asked, CollectiveAlgorithm one) {
  return asked == one || asked == CollectiveAlgorithm::any;
}

std::string rate(double bytes_per_second) {
  return format_value(bytes_per_second, "bytes_per_second");
}

// The slowest wire that every byte of a ring crosses.
std::optional<double> ring_wire(const CollectiveWires& w) {
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
      return host_bytes_per_second * ((n - 1) / n) / ((k - 1) / k);
    case Collective::pingpong:
    case Collective::pair_one_way:
    case Collective::pair_two_way:
      if (hosts % 2 != 0) return std::nullopt;  // some pairs stay on one host
      return host_bytes_per_second / g;
    default:
      return host_bytes_per_second;
  }
}

std::optional<double> link_bus_ceiling(Collective collective, CollectiveAlgorithm algorithm,
                                       uint64_t ranks, double link_bytes_per_second) {
  if (ranks < 2) return std::nullopt;
  const auto n = static_cast<double>(ranks);
  if (collective == Collective::all_reduce && algorithm == CollectiveAlgorithm::nvls)
    return link_bytes_per_second * 2 * (n - 1) / (n + 1);
  return link_bytes_per_second;
}

std::optional<CollectiveCeiling> collective_ceiling(Collective collective,
                                                    CollectiveAlgorithm algorithm,
                                                    const CollectiveWires& w) {
  std::optional<CollectiveCeiling> out;
  const bool nvls = w.nvls_possible && allows(algorithm, CollectiveAlgorithm::nvls);
  const auto lower = [&](const std::optional<double>& value, const std::string& how) {
    if (value && (!out || *value < out->bytes_per_second)) out = CollectiveCeiling{*value, how};
  };
  if (w.gpu_link && w.ranks > w.hosts) {
    const bool counts = nvls && collective == Collective::all_reduce;
    lower(
        link_bus_ceiling(collective, counts ? CollectiveAlgorithm::nvls : CollectiveAlgorithm::ring,
                         w.ranks, *w.gpu_link),
        fmt::format("{} per GPU in a direction{}", rate(*w.gpu_link),
                    counts ? ", reduced in the NVLink switch" : ""));
  }
  if (w.host_network && w.hosts > 1) {
    const bool between = collective == Collective::all_reduce &&
                         algorithm != CollectiveAlgorithm::ring && w.ranks > w.hosts;
    lower(network_bus_ceiling(
              collective, between ? CollectiveAlgorithm::hierarchical : CollectiveAlgorithm::ring,
              w.ranks, w.hosts, *w.host_network),
          fmt::format("{} per host in a direction over {} hosts{}", rate(*w.host_network), w.hosts,
                      between ? ", reduced inside the hosts first" : ""));
  }
  return out;
}

std::string explain_above_wire(Collective collective, double bus, const CollectiveWires& w) {
  const auto wire = ring_wire(w);
  if (collective != Collective::all_reduce || !wire || bus <= *wire) return "";
  return fmt::format(
      "the bus bandwidth of {} is above the {} of the wire and right all the same: it counts the "
      "bytes of a ring, and a tree, a hierarchy or the NVLink switch sends fewer",
      rate(bus), rate(*wire));
}

CollectiveAlgorithm algorithm_of(const std::string& name) {
  if (name == "ring") return CollectiveAlgorithm::ring;
  if (name == "nvls" || name == "nvls_tree") return CollectiveAlgorithm::nvls;
  if (name == "tree" || name == "collnet_direct" || name == "collnet_chain" || name == "pat")
    return CollectiveAlgorithm::hierarchical;
  return CollectiveAlgorithm::any;
}

}  // namespace cb
