#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace cb {

// A host to measure, and its number of ranks if a step asks for "slots".
struct HostSlots {
  std::string name;
  int slots = 1;

  bool operator==(const HostSlots&) const = default;
};

// True if this can be a host's name: letters, digits, '.', '_' and '-', beginning with neither '-'
// nor '.'.
bool is_host_name(const std::string& name);
bool is_slot_count(int64_t slots);

// Gives the value of an environment variable; nothing if unset.
using Environment = std::function<std::optional<std::string>(const std::string&)>;

// Expands Slurm's notation: "node[001-003,7],login" gives node001 node002 node003 node7 login.
// Problems name `where`.
std::vector<std::string> expand_node_list(std::string_view text, const std::string& where,
                                          Problems& problems);

// Parses --hosts: "a:2,b:2" or "node[01-16]:8". Throws UsageError with every problem.
std::vector<HostSlots> parse_hosts(std::string_view text);

// Parses an Open MPI hostfile ("host slots=8"), a plain list (a host named n times has n slots) or
// Slurm node lists. '#' starts a comment. Throws UsageError with every problem.
std::vector<HostSlots> parse_hostfile(std::string_view text, const std::string& source);

// The hosts of the Slurm allocation that this process runs in; nothing outside of an allocation.
// Slots are SLURM_TASKS_PER_NODE or, if unset, SLURM_JOB_CPUS_PER_NODE. Throws UsageError if
// Slurm's variables cannot be understood.
std::optional<std::vector<HostSlots>> slurm_hosts(const Environment& environment);

}  // namespace cb
