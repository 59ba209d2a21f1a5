#pragma once

#include <string>

#include "bench/comm.h"
#include "sys/mpi.h"

namespace cb {

// The ranks among which this one measures.
struct Group {
  mpi::Communicator comm;
  int rank = 0;  // in it
  int size = 1;
  std::string name = {};  // "rail 3"; empty for all ranks
  std::string host = {};  // where the whole group is on one
};

// What is wrong with a split: "", "host", "rail", "pair", "half" or a number of groups. Every group
// needs two ranks.
void check_split(const Place& place, const std::string& split, Problems& problems);

// Which group a rank belongs to, and what that is called. host: the ranks of a host; rail: the
// ranks with the same place on their hosts; pair: ranks i and i + n/2; half: the lower and the
// upper half; N: by rank modulo N. An odd rank without a partner joins the last pair.
int group_of(const Place& place, int rank, const std::string& split);
std::string group_name(const Place& place, int group, const std::string& split);

// Collective. With an empty split all ranks.
Group make_group(const Place& place, int rank, const std::string& split);

}  // namespace cb
