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

// Whether the collective needs no reduction or a single one, so that a way that is no ring moves
// only what belongs to the other hosts.
bool is_half_of_all_reduce(Collective c) {
  return c == Collective::all_gather || c == Collective::reduce_scatter;
}

std::string network_id(Collective collective, CollectiveAlgorithm a, bool domains) {
  const std::string of = domains ? "coll.per_domain" : "coll.per_host";
  if (a == CollectiveAlgorithm::ring) return of;
  if (is_half_of_all_reduce(collective)) return of + "_foreign";
  if (collective != Collective::all_reduce) return of;
  return of + (a == CollectiveAlgorithm::in_network ? "_switch" : "_inside");
}

// The best way inside a host that the algorithm and the links allow.
CollectiveAlgorithm inside_host(Collective collective, CollectiveAlgorithm a, const LinkRates& w) {
  if (is_half_of_all_reduce(collective)) return a;
  if (collective != Collective::all_reduce) return CollectiveAlgorithm::ring;
  if (w.nvls_possible && uses_nvlink_switch(a)) return CollectiveAlgorithm::nvls;
  return uses_network_switches(a) ? CollectiveAlgorithm::in_network : CollectiveAlgorithm::ring;
}

// The derivation: which wire, and the multiple of its rate with its formula.
Said derived(const Said& wire, const BusFactor& factor, const LinkRates& w) {
  if (*factor.formula == '\0') return wire;
  return said("coll.times", wire, factor.formula, fmt::format("{:.3f}", factor.value), w.ranks,
              w.hosts);
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

std::optional<BusFactor> network_bus_factor(Collective collective, CollectiveAlgorithm algorithm,
                                            uint64_t ranks, uint64_t hosts) {
  if (hosts < 2 || ranks < hosts || ranks % hosts != 0) return std::nullopt;
  const auto n = static_cast<double>(ranks), k = static_cast<double>(hosts);
  const double g = n / k;
  const BusFactor of_hosts{((n - 1) / n) / ((k - 1) / k), "((n−1)/n)/((k−1)/k)"};
  switch (collective) {
    case Collective::alltoall:
    case Collective::alltoallv:
      return BusFactor{(n - 1) / (n - g) / g, "(n−1)/(n−g)/g"};
    case Collective::gather:
    case Collective::scatter:
      return BusFactor{(n - 1) / (n - g), "(n−1)/(n−g)"};
    case Collective::all_reduce:
      if (algorithm == CollectiveAlgorithm::ring) return BusFactor{};
      if (uses_network_switches(algorithm)) return BusFactor{2 * (n - 1) / n, "2(n−1)/n"};
      return of_hosts;
    case Collective::all_gather:
    case Collective::reduce_scatter:
      return algorithm == CollectiveAlgorithm::ring ? BusFactor{} : of_hosts;
    case Collective::pingpong:
    case Collective::pair_one_way:
    case Collective::pair_two_way:
      if (hosts % 2 != 0) return std::nullopt;  // with an odd number, some pairs stay on one host
      return BusFactor{1 / g, "1/g"};
    default:
      return BusFactor{};
  }
}

std::optional<double> network_bus_ceiling(Collective collective, CollectiveAlgorithm algorithm,
                                          uint64_t ranks, uint64_t hosts,
                                          double host_bytes_per_second) {
  const auto factor = network_bus_factor(collective, algorithm, ranks, hosts);
  if (!factor) return std::nullopt;
  return host_bytes_per_second * factor->value;
}

std::optional<BusFactor> link_bus_factor(Collective collective, CollectiveAlgorithm algorithm,
                                         uint64_t ranks, uint64_t hosts) {
  if (ranks < 2 || hosts == 0 || ranks <= hosts) return std::nullopt;
  const auto n = static_cast<double>(ranks), k = static_cast<double>(hosts);
  const double g = n / k;
  if (collective == Collective::all_reduce && algorithm == CollectiveAlgorithm::nvls)
    return BusFactor{2 * (n - 1) / n * g / (g + 1), "2(n−1)/n·g/(g+1)"};
  if (collective == Collective::all_reduce && algorithm == CollectiveAlgorithm::in_network)
    return BusFactor{((n - 1) / n) * g / (g - 1), "(n−1)/n·g/(g−1)"};
  const bool direct = is_half_of_all_reduce(collective) && algorithm != CollectiveAlgorithm::ring;
  if (direct && hosts > 1) return BusFactor{(n - 1) / (n - k), "(n−1)/(n−k)"};
  return BusFactor{};
}

std::optional<double> link_bus_ceiling(Collective collective, CollectiveAlgorithm algorithm,
                                       uint64_t ranks, uint64_t hosts,
                                       double link_bytes_per_second) {
  const auto factor = link_bus_factor(collective, algorithm, ranks, hosts);
  if (!factor) return std::nullopt;
  return link_bytes_per_second * factor->value;
}

std::optional<CollectiveCeiling> collective_ceiling(Collective collective,
                                                    CollectiveAlgorithm algorithm,
                                                    const LinkRates& w) {
  std::optional<CollectiveCeiling> out;
  const auto lower = [&](double wire_rate, const std::optional<BusFactor>& factor,
                         const Said& wire) {
    if (!factor) return;
    const double value = wire_rate * factor->value;
    if (!out || value < out->bytes_per_second)
      out = CollectiveCeiling{value, derived(wire, *factor, w)};
  };
  if (w.host_network && w.hosts > 1) {
    const CollectiveAlgorithm between =
        collective == Collective::all_reduce ? between_hosts(algorithm) : algorithm;
    lower(*w.host_network, network_bus_factor(collective, between, w.ranks, w.hosts),
          said(network_id(collective, between, w.domains), rate(*w.host_network), w.hosts));
  }
  if (w.gpu_link && w.ranks > w.hosts) {
    const CollectiveAlgorithm inside = inside_host(collective, algorithm, w);
    const bool in_switch =
        collective == Collective::all_reduce && inside == CollectiveAlgorithm::nvls;
    lower(*w.gpu_link, link_bus_factor(collective, inside, w.ranks, w.hosts),
          said(in_switch ? "coll.per_gpu_switch" : "coll.per_gpu", rate(*w.gpu_link)));
  }
  return out;
}

Said explain_above_wire(Collective collective, double bus, const LinkRates& w) {
  const auto wire = ring_wire(w);
  const bool may = collective == Collective::all_reduce || is_half_of_all_reduce(collective);
  if (!may || !wire || bus <= *wire) return {};
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
