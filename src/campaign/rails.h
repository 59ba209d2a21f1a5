// The jobs of a step of scope rails: what each of them puts in the place of {rail}, {rdma}, {nic}.
// Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "campaign/hosts.h"
#include "core/inventory.h"
#include "core/profile.h"

namespace cb {

// A rail as all hosts have it.
struct Rail {
  int number = 0;
  std::string rdma, nic;  // empty: not known, or another one on each host
  // Why the rail cannot be named: hosts have no inventory, another number of rails, or other names.
  std::optional<Said> problem = {};
};

// The active RDMA ports of a host, in the order of the inventory: rail i is the i-th of them.
std::vector<const Part*> rails_of_host(const HostInventory& inventory);

// The hosts on which a job runs, and what each has; null: not known.
using RailHosts = std::vector<std::pair<std::string, const HostInventory*>>;

RailHosts rail_hosts(const std::vector<HostSlots>& hosts,
                     const std::map<std::string, HostInventory>& inventories);

// Rail `number` of `step`. Words that the step does not use need no name.
Rail find_rail(const Step& step, int number, const RailHosts& hosts);

// The step as the job runs it: the words for a rail replaced. If the rail is not known, only its
// number is.
Step step_on_rail(Step step, const Rail& rail);

// True if a value of params or env has that word.
bool uses_rail_word(const Step& step, std::string_view word);

}  // namespace cb
