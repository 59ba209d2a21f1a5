#include "bench/network/leaves.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "model/leaf_map.h"

namespace cb::net {
namespace {

std::string read_leaves(const std::string& path, Problems& problems) {
  std::ifstream in(path);
  std::ostringstream out;
  if (!in || !(out << in.rdbuf()))
    problems.add("--leaf-map", fmt::format("{}: {}", path, in ? "empty" : std::strerror(errno)));
  return out.str();
}

struct CrossingPairs {
  size_t all = 0, crossing = 0;
};

CrossingPairs crossing_pairs(const Nodes& nodes, const std::vector<RailRound>& rounds) {
  const auto leaf = [&nodes](int node) { return nodes.leaf[static_cast<size_t>(node)]; };
  CrossingPairs out;
  for (const RailRound& round : rounds) {
    for (const RailPair& p : round) {
      ++out.all;
      out.crossing += leaf(p.from) != leaf(p.to) ? 1 : 0;
    }
  }
  return out;
}

}  // namespace

std::string read_leaf_map(Context& context, const std::string& path) {
  Problems problems;
  std::string text;
  if (context.comm.rank() == 0) text = read_leaves(path, problems);
  throw_agreed(context.comm, "clusterbench", problems);
  return context.comm.broadcast_text(std::move(text));
}

void assign_leaves(Context& context, const Params& params, Nodes& nodes) {
  if (!params.has("leaf-map")) return;
  Problems problems;
  const std::string text = read_leaf_map(context, params.text("leaf-map"));
  const LeafMap map = parse_leaf_map(text, problems);
  // The host of each node's first rank.
  std::vector<std::string> hosts;
  for (const auto& ranks : nodes.ranks) {
    const int host = context.place.host_of_rank[static_cast<size_t>(ranks.front())];
    hosts.push_back(context.place.hosts[static_cast<size_t>(host)]);
  }
  if (problems.empty()) nodes.leaf = leaf_groups(map, hosts, problems);
  if (!problems.empty()) throw UsageError("clusterbench", problems);
}

void add_leaf_facts(std::map<std::string, Said>& facts, const Params& params, const Nodes& nodes,
                    const std::vector<RailRound>& rounds) {
  const std::string& schedule = params.text("schedule");
  if (schedule == "bisection") facts["bisection"] = bisection_fact(nodes, rounds);
  if (schedule != "within-leaf" && schedule != "across-leaves") return;
  const CrossingPairs count = crossing_pairs(nodes, rounds);
  facts["leaf_pairs"] = said("net.leaf_pairs", count.all - count.crossing, count.crossing);
}

Said bisection_fact(const Nodes& nodes, const std::vector<RailRound>& rounds) {
  if (nodes.leaf.empty()) return said("net.own_order");
  const auto [pairs, crossing] = crossing_pairs(nodes, rounds);
  const size_t leaves = std::set(nodes.leaf.begin(), nodes.leaf.end()).size();
  return said_count("net.leaves", leaves, crossing, pairs);
}

}  // namespace cb::net
