#include "bench/collectives/group.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "bench/collectives/clock_offset.h"
#include "core/units.h"

namespace cb {
namespace {

// The index of the rank among the ranks of its host.
int place_on_host(const RankMap& place, int rank) {
  const auto begin = place.host_of_rank.begin();
  return static_cast<int>(
      std::count(begin, begin + rank, place.host_of_rank[static_cast<size_t>(rank)]));
}

bool known(const std::string& split) {
  if (split == "host" || split == "rail" || split == "pair" || split == "half") return true;
  const auto number = parse_integer(split);
  return number && *number >= 1 && *number <= 1000000;
}

}  // namespace

GroupComm::GroupComm(mpi::Communicator comm) : comm_(std::move(comm)) {
  mpi::check(MPI_Comm_rank(comm_->get(), &rank_), "MPI_Comm_rank");
  mpi::check(MPI_Comm_size(comm_->get(), &size_), "MPI_Comm_size");
}

std::vector<double> GroupComm::reduce(const std::vector<double>& mine, bool largest) const {
  if (!comm_) return mine;
  std::vector<double> out(mine.size());
  mpi::check(MPI_Allreduce(mine.data(), out.data(), static_cast<int>(mine.size()), MPI_DOUBLE,
                           largest ? MPI_MAX : MPI_MIN, comm_->get()),
             "MPI_Allreduce");
  return out;
}

void GroupComm::broadcast(std::span<std::byte> bytes) const {
  if (!comm_) return;
  mpi::check(MPI_Bcast(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, 0, comm_->get()),
             "MPI_Bcast");
}

double GroupComm::clock_offset() const { return comm_ ? cb::clock_offset(comm_->get()) : 0; }

std::string rank_name(const RankMap& place, int rank) {
  const int host = place.host_of_rank[static_cast<size_t>(rank)];
  return fmt::format("{} rank {}", place.hosts[static_cast<size_t>(host)], rank);
}

int group_of(const RankMap& place, int rank, const std::string& split) {
  const int ranks = static_cast<int>(place.host_of_rank.size());
  const int half = std::max(1, ranks / 2);
  if (split.empty()) return 0;
  if (split == "host") return place.host_of_rank[static_cast<size_t>(rank)];
  if (split == "rail") return place_on_host(place, rank);
  if (split == "pair") return rank >= 2 * half ? half - 1 : rank % half;
  if (split == "half") return rank < half ? 0 : 1;
  return rank % static_cast<int>(parse_integer(split).value());
}

std::string group_name(const RankMap& place, int group, const std::string& split) {
  if (split == "host") return place.hosts[static_cast<size_t>(group)];
  if (split == "half") return group == 0 ? "lower half" : "upper half";
  const bool named = split == "rail" || split == "pair";
  return fmt::format("{} {}", named ? split : "group", group);
}

void check_split(const RankMap& place, const std::string& split, int members, Problems& problems) {
  if (split.empty()) return;
  if (is_grid(split)) {
    parse_grid(split, static_cast<int>(place.host_of_rank.size()), problems);
    if (members > 1) problems.add("--gpus", "a grid places ranks: give each rank one GPU");
    return;
  }
  if (!known(split)) {
    problems.add("--split", fmt::format("'{}' is none of host, rail, pair, half, a number of "
                                        "groups or grid:DP,TP,PP",
                                        split));
    return;
  }
  std::map<int, int> count_of;
  for (size_t r = 0; r < place.host_of_rank.size(); ++r)
    count_of[group_of(place, static_cast<int>(r), split)] += members;
  for (const auto& [group, count] : count_of) {
    if (count >= 2) continue;
    problems.add("--split", said("coll.lone_group", group_name(place, group, split)).text());
    return;
  }
}

Group make_group(const RankMap& place, int rank, const std::string& split) {
  if (place.host_of_rank.size() == 1) return {};  // MPI may not have been started
  const int mine = group_of(place, rank, split);
  Group out{.comm = GroupComm(mpi::Communicator::split_world(mine, rank))};
  if (split.empty()) return out;
  out.name = group_name(place, mine, split);
  if (split == "host") out.host = place.host;
  return out;
}

namespace {

// The host of all ranks that `in` accepts; empty if they are on several.
template <typename In>
std::string only_host(const RankMap& place, In in) {
  std::optional<int> host;
  for (size_t r = 0; r < place.host_of_rank.size(); ++r) {
    if (!in(static_cast<int>(r))) continue;
    if (host && *host != place.host_of_rank[r]) return "";
    host = place.host_of_rank[r];
  }
  return host ? place.hosts[static_cast<size_t>(*host)] : "";
}

// Most programs call MPI_COMM_WORLD, and libraries are at their best there:
// docs/design/decisions/0152.
Group whole_world(const RankMap& place) {
  if (place.host_of_rank.size() == 1) return {};  // MPI may not have been started
  return {.comm = GroupComm(mpi::Communicator::world())};
}

}  // namespace

std::vector<Group> make_groups(const RankMap& place, int rank, const std::string& split) {
  std::vector<Group> out;
  if (!is_grid(split)) {
    out.push_back(split.empty() ? whole_world(place) : make_group(place, rank, split));
    return out;
  }
  Problems problems;
  const auto shape = parse_grid(split, static_cast<int>(place.host_of_rank.size()), problems);
  if (!shape) throw Error("a grid that was not checked: " + split);
  for (const GridDimension d : grid_dimensions(*shape)) {
    const int mine = grid_group(*shape, d, rank);
    Group group{.comm = GroupComm(mpi::Communicator::split_world(mine, rank))};
    group.name = fmt::format("{} {}", grid_dimension_name(d), mine);
    group.host = only_host(place, [&](int r) { return grid_group(*shape, d, r) == mine; });
    group.dimension = d;
    out.push_back(std::move(group));
  }
  return out;
}

}  // namespace cb
