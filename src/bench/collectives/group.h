#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/harness/comm.h"
#include "sys/mpi/mpi.h"

namespace cb {

// The processes of a group: a part of MPI_COMM_WORLD, or one process alone without MPI. Every call
// but rank() and size() is collective over the group.
class GroupComm {
 public:
  GroupComm() = default;  // alone
  explicit GroupComm(mpi::Communicator comm);

  int rank() const { return rank_; }
  int size() const { return size_; }
  // Null where the process is alone.
  MPI_Comm mpi() const { return comm_ ? comm_->get() : MPI_COMM_NULL; }
  void barrier() const {
    if (comm_) mpi::check(MPI_Barrier(comm_->get()), "MPI_Barrier");
  }
  // Element by element over the processes, which give equally many.
  std::vector<double> max(const std::vector<double>& mine) const { return reduce(mine, true); }
  std::vector<double> min(const std::vector<double>& mine) const { return reduce(mine, false); }
  void broadcast(std::span<std::byte> bytes) const;  // from the first process; at most 2 GiB
  // What this process adds to its monotonic clock to get the first one's, in seconds.
  double clock_offset() const;

 private:
  std::vector<double> reduce(const std::vector<double>& mine, bool largest) const;
  std::optional<mpi::Communicator> comm_;
  int rank_ = 0;
  int size_ = 1;
};

// The processes among which this one measures.
struct Group {
  GroupComm comm = {};
  std::string name = {};  // "rail 3"; empty for all
  std::string host = {};  // where the whole group is on one
};

// What is wrong with a split: "", "host", "rail", "pair", "half" or a number of groups. Every group
// needs two members; a process counts as `members` of them.
void check_split(const Place& place, const std::string& split, int members, Problems& problems);

// Which group a rank belongs to, and what that is called. host: the ranks of a host; rail: the
// ranks with the same place on their hosts; pair: ranks i and i + n/2; half: the lower and the
// upper half; N: by rank modulo N. An odd rank without a partner joins the last pair.
int group_of(const Place& place, int rank, const std::string& split);
std::string group_name(const Place& place, int group, const std::string& split);

// Collective. With an empty split all ranks.
Group make_group(const Place& place, int rank, const std::string& split);

}  // namespace cb
