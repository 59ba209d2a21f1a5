#include "bench/training/scaling.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "core/param_builder.h"

namespace cb::training {
namespace {

const std::vector<std::string> kKinds{"weak", "strong"};
const std::vector<std::string> kLevels{"replica", "host", "all"};

bool asks_for(const Params& params, const char* name, const std::string& value) {
  return !params.has(name) || std::ranges::count(params.texts(name), value) > 0;
}

int replica_of(const Layout& layout) { return layout.tensor * layout.pipeline; }

int ranks_with(const std::vector<int>& groups, int first) {
  return static_cast<int>(std::ranges::count(groups, first));
}

// Of levels with the same groups the largest.
std::vector<Level> different_levels(const Params& params, const RankMap& place, int replica) {
  std::vector<Level> out;
  for (const Level level : {Level::replica, Level::host, Level::all}) {
    if (!asks_for(params, "level", kLevels[static_cast<size_t>(level)])) continue;
    if (!out.empty() && groups_of(out.back(), place, replica) == groups_of(level, place, replica))
      out.back() = level;
    else
      out.push_back(level);
  }
  return out;
}

// Why the group whose first rank is `first` cannot train. `where`: its host, or "all ranks".
void check_group(const ScalingPoint& point, const Options& all, int ranks, const std::string& where,
                 Problems& problems) {
  const int replica = replica_of(all.layout);
  if (ranks % replica != 0) {
    problems.add("--level", fmt::format("{} has {} ranks, no multiple of --tp {} × --pp {}; next: "
                                        "--level replica,all",
                                        where, ranks, all.layout.tensor, all.layout.pipeline));
    return;
  }
  const int replicas = ranks / replica;
  if (!point.strong ||
      strong_micro_batches(all.batch.micro_batches, all.layout.data, replicas).has_value())
    return;
  problems.add("--scaling",
               fmt::format("strong: {} replicas × {} micro-batches make a step, which the {} "
                           "replicas of {} cannot share; next: --micro-batches {}, or another "
                           "--level",
                           all.layout.data, all.batch.micro_batches, replicas, where, replicas));
}

void check_groups(const ScalingPoint& point, const Options& all, const RankMap& place,
                  Problems& problems) {
  if (point.level != Level::host) return;  // a replica alone and all ranks can, whatever they share
  for (size_t host = 0; host < place.hosts.size(); ++host) {
    const auto ranks =
        static_cast<int>(std::ranges::count(place.host_of_rank, static_cast<int>(host)));
    check_group(point, all, ranks, place.hosts[host], problems);
    if (!problems.empty()) return;
  }
}

// Rates of replicas are added up by hosts, so none may lie on two.
void check_placement(const std::vector<Level>& levels, const Options& all, const RankMap& place,
                     Problems& problems) {
  const auto has = [&](Level level) { return std::ranges::find(levels, level) != levels.end(); };
  if (!has(Level::replica) || !has(Level::host)) return;
  const std::vector<int> replicas = groups_of(Level::replica, place, replica_of(all.layout));
  for (size_t rank = 0; rank < replicas.size(); ++rank) {
    const auto first = static_cast<size_t>(replicas[rank]);
    if (place.host_of_rank[rank] == place.host_of_rank[first]) continue;
    const auto host = [&](size_t of) {
      return place.hosts[static_cast<size_t>(place.host_of_rank[of])];
    };
    problems.add("--scaling",
                 fmt::format("ranks {} and {} are of one replica and lie on {} and {}: level host "
                             "cannot be compared with level replica; next: place neighbouring "
                             "ranks on one host, or --level host,all",
                             first, rank, host(first), host(rank)));
    return;
  }
}

bool is_in_layer(Fault::Kind kind) {
  return kind == Fault::Kind::bitflip || kind == Fault::Kind::nan || kind == Fault::Kind::inf;
}

// The rank counts among those of its group.
Fault fault_in_group(const Options& of_group, const std::vector<int>& groups, int rank) {
  Fault out = of_group.fault;
  if (out.kind == Fault::Kind::none) return out;
  const int first = groups[static_cast<size_t>(out.rank)];
  if (first != groups[static_cast<size_t>(rank)]) return {};
  out.rank = static_cast<int>(std::count(groups.begin(), groups.begin() + out.rank, first));
  if (!has_witness(out.kind, of_group.layout)) return {};
  const Stage stage = of_group.stage(out.rank);
  const bool computes =
      out.layer >= stage.first_layer() && out.layer < stage.first_layer() + stage.layers();
  return !is_in_layer(out.kind) || computes ? out : Fault{};
}

}  // namespace

std::string kind_name(const ScalingPoint& point) { return kKinds[point.strong ? 1 : 0]; }
std::string level_name(const ScalingPoint& point) {
  return kLevels[static_cast<size_t>(point.level)];
}

std::vector<ParamDef> scaling_params() {
  using namespace param;
  return {choice("scaling", kKinds)
              .help("trains at several --level and compares them: weak, with as many tokens for "
                    "each rank; strong, with as many in each step")
              .list()
              .excludes({"checkpoint-dir", "resume"}),
          choice("level", kLevels)
              .help("of --scaling: groups that train by themselves, at the same time; all three "
                    "unless given")
              .list()};
}

void check_training(const Params& params, Problems& problems) {
  check_options(params, problems);
  if (params.has("level") && !params.has("scaling"))
    problems.add("--level", "needs --scaling, which compares the levels");
}

std::vector<int> groups_of(Level level, const RankMap& place, int replica) {
  std::vector<int> out;
  std::map<int, int> first_of_host;
  for (const int host : place.host_of_rank) {
    const auto rank = static_cast<int>(out.size());
    const int first = first_of_host.emplace(host, rank).first->second;
    out.push_back(level == Level::replica ? rank / replica * replica
                  : level == Level::host  ? first
                                          : 0);
  }
  return out;
}

std::optional<int64_t> strong_micro_batches(int64_t each, int whole, int replicas) {
  const int64_t together = each * whole;
  return together % replicas == 0 ? std::optional(together / replicas) : std::nullopt;
}

std::vector<ScalingPoint> scaling_points(const Params& params, const Options& all,
                                         const RankMap& place) {
  std::vector<ScalingPoint> out;
  if (!params.has("scaling")) return out;
  const std::vector<Level> levels = different_levels(params, place, replica_of(all.layout));
  Problems problems;
  if (levels.size() < 2)
    problems.add("--scaling", fmt::format("compares groups of different sizes, and the levels of "
                                          "{} rank(s) on {} host(s) are the same; next: more "
                                          "ranks, or more of --level",
                                          place.host_of_rank.size(), place.hosts.size()));
  for (const bool strong : {false, true}) {
    if (!asks_for(params, "scaling", kKinds[strong ? 1 : 0])) continue;
    for (const Level level : levels) {
      out.push_back({strong, level});
      if (problems.empty()) check_groups(out.back(), all, place, problems);
    }
  }
  if (problems.empty()) check_placement(levels, all, place, problems);
  if (!problems.empty()) throw UsageError("clusterbench train", problems);
  return out;
}

Options options_at(const ScalingPoint& point, const Options& all, const std::vector<int>& groups,
                   int rank) {
  Options out = all;
  out.layout.data = ranks_with(groups, groups[static_cast<size_t>(rank)]) / replica_of(all.layout);
  if (out.layout.data == 1) out.layout.zero1 = false;  // nobody to divide the state with
  if (point.strong)
    out.batch.micro_batches =
        strong_micro_batches(all.batch.micro_batches, all.layout.data, out.layout.data).value();
  out.fault = fault_in_group(out, groups, rank);
  return out;
}

}  // namespace cb::training
