#pragma once

#include <string>
#include <vector>

#include "bench/harness/comm.h"
#include "core/messages/said.h"
#include "sys/net/rdma_port.h"

namespace cb::verbs {

// This rank's ports in the order of the rails, as --rails asks. "auto" means every active port in
// the order of the slots; else names ("mlx5_0", "mlx5_1:2"; "n3:mlx5_4" is for a single host only,
// and nothing to hosts with ports of their own where n3 is not of the job). Adds problems. A host
// without any RDMA device gives an empty list; with "auto" that is no problem.
std::vector<RdmaPort> choose_rails(const std::vector<std::string>& asked,
                                   const std::vector<RdmaPort>& ports, const std::string& host,
                                   const std::vector<std::string>& hosts, Problems& problems);

// "n3, n4": hosts that the names are for and that are not of the job: a campaign has left them out,
// or their names are wrong. At most eight, then how many more.
std::string hosts_beside(const std::vector<std::string>& asked,
                         const std::vector<std::string>& hosts);

// What is said of them; nothing if there are none.
std::vector<Said> notes_of_rails(const std::vector<std::string>& asked,
                                 const std::vector<std::string>& hosts);

}  // namespace cb::verbs
