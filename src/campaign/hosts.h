#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace cb {

// A host to measure and the number of ranks that it takes when a step asks for "slots".
struct HostSlots {
  std::string name;
  int slots = 1;

  bool operator==(const HostSlots&) const = default;
};

// Whether it can be the name of a host: letters, digits, '.', '_' and '-', not first '-' or '.'.
bool is_host_name(const std::string& name);
bool is_slot_count(int64_t slots);

// Names of an environment variable's value; nothing if unset.
using Environment = std::function<std::optional<std::string>(const std::string&)>;

// "node[001-003,7],login" as node001 node002 node003 node7 login (Slurm's notation). Problems name
// `where`.
std::vector<std::string> expand_node_list(std::string_view text, const std::string& where,
                                          Problems& problems);

// "a:2,b:2" or "node[01-16]:8" (--hosts). Throws UsageError with every problem.
std::vector<HostSlots> parse_hosts(std::string_view text);

// An Open MPI hostfile ("host slots=8"), a plain list (a host named n times has n slots) or Slurm
// node lists; '#' starts a comment. Throws UsageError with every problem.
std::vector<HostSlots> parse_hostfile(std::string_view text, const std::string& source);

// The hosts of the Slurm allocation that this process runs in, with SLURM_TASKS_PER_NODE or else
// SLURM_JOB_CPUS_PER_NODE as slots; nothing outside of one. Throws UsageError if Slurm's variables
// cannot be understood.
std::optional<std::vector<HostSlots>> slurm_hosts(const Environment& environment);

}  // namespace cb
