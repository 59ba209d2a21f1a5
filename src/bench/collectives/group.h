#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/collectives/grid.h"
#include "bench/harness/comm.h"
#include "sys/mpi/mpi.h"

namespace cb {

// The processes of a group: a part of MPI_COMM_WORLD, or one process without MPI. Every call except
// rank(), size() and mpi() is collective over the group.
class GroupComm {
 public:
  GroupComm() = default;  // a single process
  explicit GroupComm(mpi::Communicator comm);

  int rank() const { return rank_; }
  int size() const { return size_; }
  // Null if the process is alone.
  MPI_Comm mpi() const { return comm_ ? comm_->get() : MPI_COMM_NULL; }
  void barrier() const {
    if (comm_) mpi::check(MPI_Barrier(comm_->get()), "MPI_Barrier");
  }
  // Compares element by element over the processes. All must pass the same number of elements.
  std::vector<double> max(const std::vector<double>& mine) const { return reduce(mine, true); }
  std::vector<double> min(const std::vector<double>& mine) const { return reduce(mine, false); }
  void broadcast(std::span<std::byte> bytes) const;  // the first process sends; at most 2 GiB
  // Seconds that this process adds to its monotonic clock to get that of the first process.
  double clock_offset() const;

 private:
  std::vector<double> reduce(const std::vector<double>& mine, bool largest) const;
  std::optional<mpi::Communicator> comm_;
  int rank_ = 0;
  int size_ = 1;
};

// "node03 rank 5", for messages.
std::string rank_name(const RankMap& place, int rank);

// The group in which this process measures.
struct Group {
  GroupComm comm = {};
  std::string name = {};                        // "rail 3"; empty: all processes
  std::string host = {};                        // host of the group if it has only one
  std::optional<GridDimension> dimension = {};  // of a grid
};

// Adds a problem if the split is not "", "host", "rail", "pair", "half", a number of groups or a
// grid of all ranks, or if a group has fewer than two members. Each process counts as `members`
// members; a grid takes one of each.
void check_split(const RankMap& place, const std::string& split, int members, Problems& problems);

// The group that a rank belongs to, and its name. host: the ranks of a host. rail: the ranks with
// the same place on their hosts. pair: ranks i and i + n/2. half: the lower and the upper half. N:
// rank modulo N. An odd rank without a partner joins the last pair.
int group_of(const RankMap& place, int rank, const std::string& split);
std::string group_name(const RankMap& place, int group, const std::string& split);

// Collective. An empty split makes one group of all ranks.
Group make_group(const RankMap& place, int rank, const std::string& split);

// Collective. The groups in which this process measures at the same time: one, or one of each
// dimension of a grid. Without a split that one is MPI_COMM_WORLD itself. The split has passed
// check_split().
std::vector<Group> make_groups(const RankMap& place, int rank, const std::string& split);

}  // namespace cb
