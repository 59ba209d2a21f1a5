#include "bench/mpi/group.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "core/units.h"

namespace cb {
namespace {

// The rank's place among the ranks of its host.
int place_on_host(const Place& place, int rank) {
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

int group_of(const Place& place, int rank, const std::string& split) {
  const int ranks = static_cast<int>(place.host_of_rank.size());
  const int half = std::max(1, ranks / 2);
  if (split.empty()) return 0;
  if (split == "host") return place.host_of_rank[static_cast<size_t>(rank)];
  if (split == "rail") return place_on_host(place, rank);
  if (split == "pair") return rank >= 2 * half ? half - 1 : rank % half;
  if (split == "half") return rank < half ? 0 : 1;
  return rank % static_cast<int>(parse_integer(split).value());
}

std::string group_name(const Place& place, int group, const std::string& split) {
  if (split == "host") return place.hosts[static_cast<size_t>(group)];
  if (split == "half") return group == 0 ? "lower half" : "upper half";
  const bool named = split == "rail" || split == "pair";
  return fmt::format("{} {}", named ? split : "group", group);
}

void check_split(const Place& place, const std::string& split, Problems& problems) {
  if (split.empty()) return;
  if (!known(split)) {
    problems.add("--split", fmt::format("'{}' is none of host, rail, pair, half or a number of "
                                        "groups",
                                        split));
    return;
  }
  std::map<int, int> members;
  for (size_t r = 0; r < place.host_of_rank.size(); ++r)
    ++members[group_of(place, static_cast<int>(r), split)];
  for (const auto& [group, count] : members) {
    if (count >= 2) continue;
    problems.add("--split", fmt::format("{} has one rank only; a group needs two",
                                        group_name(place, group, split)));
    return;
  }
}

Group make_group(const Place& place, int rank, const std::string& split) {
  const int mine = group_of(place, rank, split);
  Group out{.comm = mpi::Communicator::split_world(mine, rank)};
  mpi::check(MPI_Comm_rank(out.comm.get(), &out.rank), "MPI_Comm_rank");
  mpi::check(MPI_Comm_size(out.comm.get(), &out.size), "MPI_Comm_size");
  if (split.empty()) return out;
  out.name = group_name(place, mine, split);
  if (split == "host") out.host = place.host;
  return out;
}

}  // namespace cb
