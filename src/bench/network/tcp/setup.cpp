#include "bench/network/tcp/setup.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/network/tcp/connection.h"
#include "bench/network/tcp/stream_thread.h"
#include "core/suggest.h"
#include "model/tcp_ceiling.h"
#include "sys/cpu/affinity.h"

namespace cb::tcp {
namespace {

using nlohmann::json;

std::vector<Candidate> own_candidates(const FsRoot& fs) {
  std::vector<Candidate> out;
  for (const InterfaceAddress& a : interface_addresses()) {
    if (a.loopback) continue;
    out.push_back(
        {a.interface, a.address, interface_link(fs, a.interface).bits_per_second.value_or(0)});
  }
  return out;
}

// The candidates of every host, as its first rank sees them.
std::vector<std::vector<Candidate>> candidates_of_hosts(Context& context) {
  json mine = json::array();
  for (const Candidate& c : own_candidates(context.fs))
    mine.push_back({c.interface, c.address, c.bits_per_second});
  json all = json::array();
  for (const std::string& blob : context.comm.gather(mine.dump())) all.push_back(json::parse(blob));
  all = json::parse(context.comm.broadcast_text(all.dump()));
  std::vector<std::vector<Candidate>> out(context.place.hosts.size());
  for (size_t rank = context.place.host_of_rank.size(); rank-- > 0;) {
    auto& host = out[static_cast<size_t>(context.place.host_of_rank[rank])];
    host.clear();
    for (const json& c : all[rank]) host.push_back({c[0], c[1], c[2]});
  }
  return out;
}

size_t own_host(const Context& context) {
  return static_cast<size_t>(context.place.host_of_rank[static_cast<size_t>(context.comm.rank())]);
}

Rail with_link(const FsRoot& fs, Rail rail) {
  const InterfaceLink link = interface_link(fs, rail.interface);
  rail.bits_per_second = link.bits_per_second;
  rail.mtu_bytes = link.mtu_bytes;
  rail.ethernet = link.ethernet;
  return rail;
}

// The interface that the route to another host leads through; "lo" if there is none.
std::string routed_interface(const std::vector<std::vector<Candidate>>& hosts, size_t self) {
  for (size_t step = 1; step < hosts.size(); ++step) {
    const size_t other = (self + step) % hosts.size();
    for (const Candidate& theirs : usable_candidates(hosts, other)) {
      const auto source = source_address_towards(theirs.address);
      for (const Candidate& mine : hosts[self]) {
        if (source == mine.address) return mine.interface;
      }
    }
  }
  return "lo";
}

Rail automatic_rail(const Context& context, const std::vector<std::vector<Candidate>>& hosts) {
  const size_t self = own_host(context);
  Rail rail{.interface = routed_interface(hosts, self)};
  const std::vector<Candidate> usable = usable_candidates(hosts, self);
  // Addresses of the routed interface come first.
  for (const bool routed : {true, false}) {
    for (const Candidate& c : usable) {
      if ((c.interface == rail.interface) == routed) rail.addresses.push_back(c.address);
    }
  }
  return with_link(context.fs, rail);
}

Rail named_rail(const Context& context, const std::string& name, Problems& problems) {
  Rail rail{.interface = name, .fixed = true};
  std::vector<std::string> known;
  for (const InterfaceAddress& a : interface_addresses()) {
    if (a.interface == name) rail.addresses.push_back(a.address);
    if (known.empty() || known.back() != a.interface) known.push_back(a.interface);
  }
  if (rail.addresses.empty()) {
    problems.add("--interface", fmt::format("{}: {} (those that are up with an address)",
                                            context.place.host, unknown_name(name, known)));
  }
  std::stable_partition(rail.addresses.begin(), rail.addresses.end(),
                        [](const std::string& a) { return !is_ipv6(a); });
  return with_link(context.fs, rail);
}

json to_json(const Rail& rail) {
  return {rail.interface, rail.addresses, rail.bits_per_second.value_or(0),
          rail.mtu_bytes.value_or(0), rail.ethernet};
}

Rail rail_from(const json& j) {
  Rail rail{.interface = j[0], .addresses = j[1]};
  if (j[2] > 0) rail.bits_per_second = j[2];
  if (j[3] > 0) rail.mtu_bytes = j[3];
  rail.ethernet = j[4];
  return rail;
}

// Tells every rank the rails of every node; a node's first rank decides.
void share_rails(Context& context, Setup& setup) {
  json mine = json::array();
  for (const Rail& rail : setup.mine) mine.push_back(to_json(rail));
  json all = json::array();
  for (const std::string& blob : context.comm.gather(mine.dump())) all.push_back(json::parse(blob));
  all = json::parse(context.comm.broadcast_text(all.dump()));
  const bool by_rank = context.place.hosts.size() == 1;  // then ranks are paired, not hosts
  for (const std::vector<int>& ranks : setup.nodes.ranks) {
    auto& rails = setup.rails.emplace_back();
    auto& names = setup.rail_names.emplace_back();
    for (const json& j : all[static_cast<size_t>(ranks.front())]) {
      rails.push_back(rail_from(j));
      names.push_back(by_rank ? fmt::format("{} rank {}", rails.back().interface, ranks.front())
                              : rails.back().interface);
    }
  }
}

// Returns the number of CPUs for this rank. Ranks that serve a rail share the CPUs; the others
// sleep meanwhile. (For locate between ranks, a rank without a rail counts all CPUs that it may
// use.) Ranks on one kernel have its CPUs in common even if their host names differ (containers,
// network namespaces).
size_t share_cpus(Context& context, const Setup& setup) {
  bool serves = false;
  for (int node = 0; node < setup.nodes.count(); ++node) {
    for (int rail = 0; rail < setup.rail_count(); ++rail)
      serves |= setup.nodes.rank_of(node, rail) == context.comm.rank();
  }
  const std::string machine =
      context.fs.text("/proc/sys/kernel/random/boot_id").value_or(context.place.host);
  const std::vector<int> allowed = allowed_cpus();
  const json mine{machine, serves ? allowed : std::vector<int>{}};
  std::vector<RankCpus> ranks;
  for (const std::string& blob : context.comm.gather(mine.dump())) {
    const json of_rank = json::parse(blob);
    ranks.push_back({of_rank[0], of_rank[1]});
  }
  const json shares = json::parse(context.comm.broadcast_text(json(cpus_per_rank(ranks)).dump()));
  return serves ? shares.at(static_cast<size_t>(context.comm.rank())).get<size_t>()
                : allowed.size();
}

TcpInterface link_of(const Rail& rail) {
  return {rail.bits_per_second, rail.mtu_bytes, rail.ethernet};
}

}  // namespace

std::vector<Candidate> usable_candidates(const std::vector<std::vector<Candidate>>& hosts,
                                         size_t host) {
  std::map<std::string, int> owners;
  for (const auto& list : hosts) {
    std::set<std::string> once;
    for (const Candidate& c : list) once.insert(c.address);
    for (const std::string& address : once) ++owners[address];
  }
  std::vector<Candidate> out;
  for (const Candidate& c : hosts.at(host)) {
    if (owners[c.address] == 1) out.push_back(c);
  }
  std::stable_sort(out.begin(), out.end(), [](const Candidate& a, const Candidate& b) {
    if (a.bits_per_second != b.bits_per_second) return a.bits_per_second > b.bits_per_second;
    return !is_ipv6(a.address) && is_ipv6(b.address);
  });
  return out;
}

Setup set_up(Context& context, const std::vector<std::string>& asked) {
  Setup setup{.nodes = net::nodes_of(context.place), .network = network_identity()};
  const auto hosts = candidates_of_hosts(context);
  Problems problems;
  for (const std::string& name : asked) {
    setup.mine.push_back(name == "auto" ? automatic_rail(context, hosts)
                                        : named_rail(context, name, problems));
  }
  throw_agreed(context.comm, "clusterbench", problems);
  share_rails(context, setup);
  setup.cpus = share_cpus(context, setup);
  return setup;
}

std::optional<Ceiling> Setup::ceiling(const net::RailPair& pair, const Spec& spec) const {
  const auto rail = [&](int node, int index) -> const Rail& {
    const auto& of_node = rails[static_cast<size_t>(node)];
    return of_node[static_cast<size_t>(index) % of_node.size()];
  };
  const Rail& to = rail(pair.to, pair.to_rail);
  if (pair.from == pair.to || nodes.names.size() < 2) return std::nullopt;
  const bool six = !to.addresses.empty() && is_ipv6(to.addresses.front());
  return tcp_ceiling(link_of(rail(pair.from, pair.from_rail)), link_of(to), six, spec.two_way);
}

}  // namespace cb::tcp
