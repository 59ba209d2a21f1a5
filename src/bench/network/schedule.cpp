#include "bench/network/schedule.h"
#include "bench/harness/shared_params.h"
#include "core/param_builder.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "core/suggest.h"

namespace cb::net {
namespace {

constexpr const char* kBisection = "bisection";
constexpr const char* kVictim = "victim";

// All directed pairs at once.
Round all_to_all(int n) {
  Round out;
  for (const Round& r : shift(n)) out.insert(out.end(), r.begin(), r.end());
  return out;
}

Round loopback(int n) {
  Round out;
  for (int i = 0; i < n; ++i) out.push_back({i, i});
  return out;
}

std::vector<int> one_group_each(int n) {
  std::vector<int> out(static_cast<size_t>(n));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

int target_of(const Params& params, const Nodes& nodes) {
  if (!params.has("target")) return 0;
  const std::string& name = params.text("target");
  const auto found = std::find(nodes.names.begin(), nodes.names.end(), name);
  if (found != nodes.names.end()) return static_cast<int>(found - nodes.names.begin());
  throw UsageError("clusterbench", "--target", unknown_name(name, nodes.names));
}

std::vector<Round> node_rounds(const Params& params, const Nodes& nodes) {
  const std::string& name = params.text("schedule");
  const int n = nodes.count();
  const int rounds = params.has("rounds") ? static_cast<int>(params.integer("rounds")) : 4;
  if (name == "loopback") return {loopback(n)};
  if (n < 2)
    throw UsageError(
        "clusterbench", "--schedule",
        fmt::format("{} needs two hosts, or two ranks on one; loopback needs one", name));
  if (name == "tournament") return tournament(n);
  if (name == "shift") return shift(n);
  if (name == "random")
    return random_rounds(n, rounds, static_cast<uint64_t>(params.integer("seed")));
  if (name == "incast") return {incast(n, target_of(params, nodes))};
  if (name == kVictim) {
    if (n < 4) throw UsageError("clusterbench", "--schedule", "victim needs four hosts");
    return victim_rounds(n, target_of(params, nodes));
  }
  if (name == "one-to-many") return {one_to_many(n, target_of(params, nodes))};
  if (name == "all-to-all") return {all_to_all(n)};
  if (name == kBisection && !nodes.leaf.empty()) return {bisection(nodes.leaf)};
  // pair, rail, cross-rail and bisection: the first half of the hosts with the second.
  return {bisection(one_group_each(n))};
}

}  // namespace

std::vector<ParamDef> schedule_params() {
  using namespace param;
  return {
      choice("schedule", {"pair", "loopback", "tournament", "shift", "random", "rail", "cross-rail",
                          "bisection", "incast", "victim", "one-to-many", "all-to-all"})
          .help("who with whom: pair (first half of the hosts with the second), tournament (each "
                "pair once), shift (each directed pair once); each a record of its own")
          .by_default("pair")
          .list(),
      integer("rounds").help("rounds of --schedule random; by default 4").range(1, 100000),
      seed_param("of --schedule random"),
      text("leaf-map")
          .help(
              "file of lines HOST LEAF, or ibnetdiscover's output: bisection then splits by leaf"),
      text("target").help("host of incast, victim and one-to-many, the first unless given"),
      duration("round-deadline")
          .help("a pair that takes longer is given up and named; 20s and three times the measuring "
                "time unless given")
          .at_least(0.1)};
}

ParamDef direction_param() {
  return param::choice("direction", {"one-way", "two-way"})
      .help("direction of bandwidth; two-way is the sum of both directions")
      .by_default("one-way")
      .list();
}

std::vector<ParamDef> sweep_params(const SweepTexts& texts) {
  using namespace param;
  const auto max = static_cast<double>(texts.max);
  return {size("size")
              .help(fmt::format("message sizes; {} for bandwidth, {} for latency unless given",
                                texts.bandwidth, texts.latency))
              .range(1, max)
              .list(),
          size("min-size").help("first size of a sweep").range(1, max),
          size("max-size")
              .help(fmt::format("last size of a sweep, {} unless given", texts.bandwidth))
              .range(1, max),
          step_factor_param(texts.step_factor)};
}

void check_schedule(const Params& params, Problems& problems) {
  const auto names = params.texts("schedule");
  if (params.has("leaf-map") && std::ranges::find(names, kBisection) == names.end())
    problems.add("--leaf-map", "only --schedule bisection asks for leaves");
  const auto tests = params.texts("test");
  if (std::ranges::find(names, kVictim) != names.end() &&
      std::ranges::find(tests, "latency") != tests.end())
    problems.add("--test", "--schedule victim compares bandwidths: give --test bandwidth");
}

std::vector<Params> by_schedule(const Params& params) {
  std::vector<Params> out;
  for (const std::string& name : params.texts("schedule")) {
    out.push_back(params.with("schedule", name));
    if (name != kBisection) out.back().erase("leaf-map");
  }
  return out;
}

void require_schedules(const Params& params, const Nodes& nodes, int rails) {
  for (const Params& one : by_schedule(params)) plan_rounds(one, nodes, rails, false);
}

std::optional<HostPair> victim_flow(const Params& params, const Nodes& nodes) {
  if (params.text("schedule") != kVictim) return std::nullopt;
  return victim_of(nodes.count(), target_of(params, nodes));
}

int Nodes::rank_of(int node, int rail) const {
  const auto& mine = ranks[static_cast<size_t>(node)];
  return mine[static_cast<size_t>(rail) % mine.size()];
}

Nodes nodes_of(const RankMap& place) {
  Nodes nodes;
  const bool by_rank = place.hosts.size() == 1;
  nodes.ranks.resize(by_rank ? place.host_of_rank.size() : place.hosts.size());
  for (size_t rank = 0; rank < place.host_of_rank.size(); ++rank) {
    const size_t node = by_rank ? rank : static_cast<size_t>(place.host_of_rank[rank]);
    nodes.ranks[node].push_back(static_cast<int>(rank));
    nodes.node_of_rank.push_back(static_cast<int>(node));
  }
  for (size_t node = 0; node < nodes.ranks.size(); ++node) {
    const bool numbered = by_rank && nodes.ranks.size() > 1;
    nodes.names.push_back(numbered ? fmt::format("{} rank {}", place.hosts[0], node)
                                   : place.hosts[by_rank ? 0 : node]);
  }
  return nodes;
}

std::vector<RailRound> plan_rounds(const Params& params, const Nodes& nodes, int rails,
                                   bool one_rail_at_a_time) {
  const bool cross = params.text("schedule") == "cross-rail";
  if (cross && rails < 2)
    throw UsageError("clusterbench", "--schedule", "cross-rail needs two rails on every host");
  std::vector<RailRound> out;
  for (const Round& round : node_rounds(params, nodes)) {
    // Cross-rail: every rail with every other one, in rails − 1 rounds.
    for (int turn = cross ? 1 : 0; turn < (cross ? rails : 1); ++turn) {
      std::vector<RailRound> of_rail(static_cast<size_t>(rails));
      for (int rail = 0; rail < rails; ++rail) {
        for (const HostPair& p : round)
          of_rail[static_cast<size_t>(rail)].push_back({p.from, p.to, rail, (rail + turn) % rails});
      }
      RailRound together;
      for (RailRound& r : of_rail) {
        if (one_rail_at_a_time)
          out.push_back(std::move(r));
        else
          together.insert(together.end(), r.begin(), r.end());
      }
      if (!one_rail_at_a_time) out.push_back(std::move(together));
    }
  }
  return out;
}

}  // namespace cb::net
